-- How many events stand behind a position.
SELECT count(*) FROM holdfast_event WHERE pos > :after
