-- Weekly partitions of the log are made ahead and dropped when retention has emptied them. Both need a lock that every
-- writer of the log waits behind: it is given up at once when it cannot be had, and asked for again by the next run.

CREATE FUNCTION holdfast_add_partition(name text, low_ms bigint, high_ms bigint) RETURNS boolean
LANGUAGE plpgsql
SET lock_timeout = '1s'
AS $$
BEGIN
    IF to_regclass(name) IS NOT NULL THEN
        RETURN FALSE;
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF holdfast_event FOR VALUES FROM (%s) TO (%s)', name, low_ms, high_ms);
    RETURN TRUE;
EXCEPTION
    -- The default partition has rows of that week already, another process was first, or the log is busy.
    WHEN check_violation OR duplicate_table OR unique_violation OR invalid_object_definition
        OR lock_not_available OR deadlock_detected THEN
        RETURN FALSE;
END
$$;

CREATE FUNCTION holdfast_drop_partition(name text) RETURNS boolean
LANGUAGE plpgsql
SET lock_timeout = '1s'
AS $$
DECLARE
    filled boolean;
BEGIN
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', name);
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', name) INTO filled;
    IF filled THEN
        RETURN FALSE;
    END IF;
    EXECUTE format('DROP TABLE %I', name);
    RETURN TRUE;
EXCEPTION
    WHEN undefined_table OR lock_not_available OR deadlock_detected THEN
        RETURN FALSE;
END
$$;
