// An authorization server for the tests: `oidc-provider` with its own pages, and /control to count and to steer it.
import { createRequire } from 'node:module';

const [modules, issuer, ...redirects] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { Provider } = await import(require.resolve('oidc-provider'));
const { hostname, port } = new URL(issuer);
const state = { access: 3600, granted: 0, refused: 0, revoked: 0, delay: 0, asked: [] };

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'toolgate',
      client_secret: 'a secret: with/odd&characters',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: redirects.length ? redirects : ['https://nobody.example.com/'],
    },
    {
      client_id: 'machine',
      client_secret: 'machine-secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  cookies: { keys: ['a key of the tests'] },
  scopes: ['openid', 'email', 'offline_access', 'orders:read', 'orders:write'],
  claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'] },
  // Whoever logs in with an address has it, and belongs to the group of what stands before the @.
  findAccount: async (ctx, id) => ({
    accountId: id,
    claims: async () => (id.includes('@')
      ? { sub: id, email: id, email_verified: true, groups: [id.split('@')[0]] }
      : { sub: id }),
  }),
  ttl: {
    AccessToken: () => state.access,
    ClientCredentials: () => state.access,
    RefreshToken: 86400,
    Grant: 86400,
    Session: 86400,
    Interaction: 3600,
  },
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  expiresWithSession: async () => false,
  clientDefaults: { token_endpoint_auth_method: 'client_secret_basic' },
  features: {
    clientCredentials: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true },
    registration: { enabled: true, issueRegistrationAccessToken: false },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: async () => true,
      getResourceServerInfo: async (ctx, resource) => ({
        scope: 'orders:read orders:write',
        audience: resource,
        accessTokenTTL: state.access,
        accessTokenFormat: 'opaque',
      }),
    },
  },
});
provider.on('grant.success', () => { state.granted += 1; });
provider.on('grant.error', () => { state.refused += 1; });
provider.on('refresh_token.destroyed', () => { state.revoked += 1; });
provider.use(async (ctx, next) => {
  if (ctx.path === '/end') {
    const token = await provider.AccessToken.find(ctx.query.token);
    if (ctx.query.all) {
      await provider.RefreshToken.revokeByGrantId(token.grantId);
      await provider.AccessToken.revokeByGrantId(token.grantId);
    } else await token.destroy();
    ctx.status = 204;
    return;
  }
  if (ctx.path === '/control') {
    for (const [name, value] of Object.entries(ctx.query)) state[name] = Number(value);
    ctx.body = state;
    return;
  }
  if (ctx.path === '/.well-known/oauth-authorization-server') ctx.path = '/.well-known/openid-configuration';
  if (ctx.path === '/token' && state.delay) await new Promise((done) => setTimeout(done, state.delay));
  await next();
  if (ctx.path === '/token') state.asked.push(ctx.oidc?.params ?? {});
});
provider.listen(Number(port), hostname, () => console.log('ready'));
