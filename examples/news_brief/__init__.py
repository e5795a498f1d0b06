"""News feeds in, one sober page out: a pipeline of seven stages, without a network and without a model of anybody's."""
