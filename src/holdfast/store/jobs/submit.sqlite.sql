-- Create jobs that are submitted alike: what differs comes as JSON, what they share as parameters.
INSERT INTO holdfast_job ({new_job})
SELECT
    value ->> 0, :lifecycle, :task, :queue, :priority, :state, 1, 1, 0, :max_tries, 0, :ready, :due_at_ms,
    :lease_ms, :now_ms, :now_ms, :expires_at_ms, :keep_until_ms, :key_scope, :key, :correlation_id, :trace_id,
    :parent_id, :tags, :options, value ->> 1, :turn, :gate
FROM json_each(:jobs)
