-- Triggers `keep_owner_of_…` of `tenants` and `users`, before a row goes: it stays while one of the tables names it. The
-- trigger's arguments are the column that names it (`tenant_id` or `user_id`), and the tables. They have no foreign key
-- to it: that would lock the tenant's row, which all of its calls share, at each row that is written.
-- Raises foreign_key_violation. Reads past row security. Locks nothing; its statement has locked the row that goes, so
-- that whoever writes rows without a run (`hold_owner`) has done so or finds it gone.
CREATE OR REPLACE FUNCTION keep_owner() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    named boolean;
BEGIN
    FOR place IN 1 .. TG_NARGS - 1 LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE %I = $1)', TG_ARGV[place], TG_ARGV[0])
            INTO named USING OLD.id;
        IF named THEN
            RAISE EXCEPTION 'row % of % is named by %', OLD.id, TG_TABLE_NAME, TG_ARGV[place]
                USING ERRCODE = 'foreign_key_violation';
        END IF;
    END LOOP;
    RETURN OLD;
END $$;
REVOKE EXECUTE ON FUNCTION keep_owner FROM PUBLIC;
