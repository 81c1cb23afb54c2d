-- Erase what was sent by calls whose payloads are erased: text, operation and files go; that something was sent, where
-- and when, stays. A message that waits to be delivered is not delivered any more. Takes the ids of the calls, of the
-- tenant that the transaction is restricted to, and of whatever members; so it runs as its owner.
-- Called by web and workers (app), in the transaction that erases the payloads. Locks nothing but what it writes.
CREATE OR REPLACE FUNCTION erase_sent_messages(calls uuid[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE sent_messages SET text = '', operation = NULL,
        media = '[]',
        status = CASE status WHEN 'waiting' THEN 'failed' ELSE status END,
        problem = CASE status WHEN 'waiting' THEN 'Erased before it was delivered.' ELSE problem END,
        finished_at = coalesce(finished_at, now())
    WHERE tenant_id = nullif(current_setting('toolgate.tenant', true), '')::uuid AND call_id = ANY (calls)
$$;
REVOKE EXECUTE ON FUNCTION erase_sent_messages FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_sent_messages TO toolgate_app;
