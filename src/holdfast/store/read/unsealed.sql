-- How many jobs the rows behind a place are about, by the path that they took.
SELECT path, sum({size ids}) FROM holdfast_row WHERE pos > :after GROUP BY path
