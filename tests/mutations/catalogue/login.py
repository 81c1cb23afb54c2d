"""Who somebody is: members, invitations, single sign-on, passkeys, OAuth clients."""

from tests.mutations.catalogue.mutation import Mutation, function

MEMBERS = ("tests/members/test_members_api.py",)
INVITATIONS = ("tests/members/test_invitations.py",)

MUTATIONS = (
    # --- members and invitations --------------------------------------------------------------------------------------
    Mutation(
        "the last owner can be removed",
        MEMBERS,
        sql=function("change_member", "IF was = 'owner' AND wanted", "IF false AND wanted"),
    ),
    Mutation(
        "who was removed is told the owners' names",
        ("tests/rest/test_named_owners.py",),
        file="tenants/people/owners.py",
        old="""
        AND EXISTS (SELECT FROM memberships asks WHERE asks.tenant_id = %(tenant)s AND asks.user_id = %(user)s)""",
    ),
    Mutation(
        "whoever is in the tenant changes its members in the database",
        MEMBERS,
        sql=function("change_member", "m.user_id = acting AND m.role = 'owner'", "m.user_id = acting"),
    ),
    Mutation(
        "an invitation works twice",
        INVITATIONS,
        sql=function("find_invitation", "i.accepted_at IS NULL AND "),
    ),
    Mutation(
        "an invitation outlives its maker's ownership",
        INVITATIONS,
        sql=function("find_invitation", "(i.created_by_id IS NULL OR m.id IS NOT NULL)", "true"),
    ),
    Mutation(
        "an invitation is for whoever has it, whatever their address",
        INVITATIONS,
        sql=function(
            "accept_invitation", "(invitation.email = '' OR lower(u.email) = lower(invitation.email))", "true"
        ),
    ),
    Mutation(
        "runs of who left go on",
        ("tests/members/test_departures.py",),
        sql="DROP TRIGGER membership_ended ON memberships",
    ),
    # --- single sign-on and passkeys ----------------------------------------------------------------------------------
    Mutation(
        "an address that equals an account's makes another person of it",
        ("tests/sign_on/test_log_in.py",),
        sql=function("admit_person", "THEN 'account'", "THEN 'joined'"),
    ),
    Mutation(
        "a domain counts that nobody confirmed",
        ("tests/sign_on/test_log_in.py",),
        sql=function("find_sign_on", "JOIN confirmed_domains", "LEFT JOIN confirmed_domains"),
    ),
    Mutation(
        "a removed member comes back by single sign-on",
        ("tests/sign_on/test_log_in.py",),
        sql=function("admit_person", "AND provider.readmits_members"),
    ),
    Mutation(
        "a claim demotes the last owner",
        ("tests/sign_on/test_log_in.py",),
        sql=function("admit_person", "m.user_id <> person.id AND"),
    ),
    Mutation(
        "a session of one tenant's provider opens all",
        ("tests/sign_on/test_log_in.py",),
        "tenants/login/authentication.py",
        " if only is None or str(row[0]) == only]",
        "]",
    ),
    Mutation(
        "an ID token of another log-in counts",
        ("tests/sign_on/test_liars.py",),
        "gateway/sign_on/id_tokens.py",
        "if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):",
        "if not isinstance(given, str):",
    ),
    Mutation(
        "an unverified address counts",
        ("tests/sign_on/test_log_in.py",),
        "gateway/sign_on/claims.py",
        "(verified is None and provider.trusts_addresses)",
        "provider.trusts_addresses",
    ),
    Mutation(
        "another issuer gets the stored secret",
        ("tests/sign_on/test_settings.py",),
        "gateway/sign_on/setup.py",
        'row.client_secret and "client_secret" not in given',
        "False",
    ),
    Mutation(
        "a passkey answers twice",
        ("tests/pages/test_passkeys.py",),
        "tenants/login/second_factor/passkeys.py",
        "pending = session.pop(PENDING, None)",
        "pending = session.get(PENDING)",
    ),
    Mutation(
        "a copy of a passkey logs in",
        ("tests/pages/test_passkeys.py",),
        "tenants/login/second_factor/passkeys.py",
        "if (counter or known) and counter <= known:",
        "if False:",
    ),
    # --- an OAuth client ----------------------------------------------------------------------------------------------
    Mutation(
        "a code or refresh token works twice",
        ("tests/mcp/test_oauth.py",),
        sql=function("spend_token", "t.spent_at IS NULL AND"),
    ),
    Mutation(
        "a refresh token that comes twice leaves its grant alone",
        ("tests/mcp/test_oauth.py",),
        sql=function("spend_token", "t.spent_at IS NOT NULL", "false"),
    ),
    Mutation(
        "an expired access token opens",
        ("tests/mcp/test_oauth.py",),
        sql=function("authenticate_token", "AND t.expires_at > now()"),
    ),
    Mutation(
        "a token for another address opens",
        ("tests/mcp/test_oauth.py",),
        "tenants/login/authentication.py",
        '        if row["resource"] != resource:\n            return None\n',
        "",
    ),
    Mutation(
        "a client's answer goes wherever the request says",
        ("tests/mcp/test_oauth.py",),
        "gateway/oauth/server.py",
        "return redirects.is_allowed(redirect_uri, request.client.get_redirect_uris())",
        "return True",
    ),
)
