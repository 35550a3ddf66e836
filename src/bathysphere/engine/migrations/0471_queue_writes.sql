-- Procrastinate writes down each change of a job, which nobody reads here: a run's own row says what
-- became of it. Disabled and not dropped, because a later version of Procrastinate may name them.
ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_status_events_insert_v1;
ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_status_events_update_v1;
ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_scheduled_events_v1;
ALTER TABLE procrastinate_jobs DISABLE TRIGGER procrastinate_trigger_abort_requested_events_v1;
