-- LangGraph's indexes by thread: its primary keys begin with the thread, so these are only written.
DROP INDEX CONCURRENTLY IF EXISTS checkpoints_thread_id_idx;
DROP INDEX CONCURRENTLY IF EXISTS checkpoint_blobs_thread_id_idx;
DROP INDEX CONCURRENTLY IF EXISTS checkpoint_writes_thread_id_idx;
