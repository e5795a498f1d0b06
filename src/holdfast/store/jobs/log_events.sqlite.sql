-- Write one event; run for many rows at once.
INSERT INTO holdfast_event ({new_event}) VALUES ({values new_event})
