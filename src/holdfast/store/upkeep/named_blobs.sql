-- Which of these blobs some row names.
SELECT DISTINCT digest FROM holdfast_artifact WHERE digest {in :digests::text[]}
