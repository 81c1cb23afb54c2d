"""Passwords of tests, hashed as Django does and in one round instead of a million."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class QuickHasher(PBKDF2PasswordHasher):
    """Makes and checks the usual hashes: a web process, which has the usual hasher, reads them too."""

    iterations = 1
