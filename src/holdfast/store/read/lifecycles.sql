-- The lifecycles that were registered here.
SELECT name, definition FROM holdfast_lifecycle ORDER BY name
