-- Record what retention removed, in the transaction that removes it.
INSERT INTO holdfast_purge ({purge}) VALUES ({values purge})
