-- Lists of threads in their order, all and by status, without sorting all of an owner's.
DROP INDEX CONCURRENTLY IF EXISTS engine.threads_in_order;
CREATE INDEX CONCURRENTLY threads_in_order
    ON engine.threads (tenant, owner, updated_at DESC, thread_id);
DROP INDEX CONCURRENTLY IF EXISTS engine.threads_by_status;
CREATE INDEX CONCURRENTLY threads_by_status
    ON engine.threads (tenant, owner, status, updated_at DESC, thread_id);
