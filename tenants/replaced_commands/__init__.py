"""Django's own commands about users that cannot work here on the app's login.

An app of its own, since an app's commands win over those of the apps after it: this one comes before Django's accounts,
while `tenants` has to come after them, to disconnect what they connect.
"""
