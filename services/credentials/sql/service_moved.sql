-- Trigger `service_moved` of `services`, after the host of one changed, or the authorization server that its tokens are
-- from: nobody's connection is good for what it is now. Users connect again, to what they are shown then.
-- Reads and writes past row security: an owner does not see the connections of others. Locks the service's connections.
CREATE OR REPLACE FUNCTION service_moved() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    DELETE FROM connections c WHERE c.tenant_id = NEW.tenant_id AND c.service_id = NEW.id;
    DELETE FROM connection_attempts a WHERE a.tenant_id = NEW.tenant_id AND a.service_id = NEW.id;
    DELETE FROM service_clients c WHERE c.tenant_id = NEW.tenant_id AND c.service_id = NEW.id;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION service_moved FROM PUBLIC;
