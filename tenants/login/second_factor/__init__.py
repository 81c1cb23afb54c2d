"""What proves who one is beside the password: codes of an app, recovery codes, passkeys, and the steps for them."""
