-- Where the running digest over what retention removed stands.
SELECT number, digest FROM holdfast_purge ORDER BY number DESC LIMIT 1
