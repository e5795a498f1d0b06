-- What a schedule's jobs are made from, so that any process can submit them: it need not know the task.
ALTER TABLE holdfast_schedule ADD COLUMN spec text NOT NULL DEFAULT '{}';
