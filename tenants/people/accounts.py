"""Accounts that commands make, under the same rules for names and passwords as on the pages."""

from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import models

from tenants.models import User


class AccountRefused(ValueError):
    """A name, password or address breaks a rule; the message says which."""


def find(username: str) -> User | None:
    """The account of that name, spelled as log-in spells it, or None."""
    return User.objects.filter(username=User.normalize_username(username)).first()


def new(username: str, *, email: str = "") -> User:
    """An account that is not saved yet and has no password. Raises AccountRefused."""
    user = User(username=User.normalize_username(username), email=User.objects.normalize_email(email))
    check_field(User, "username", user.username)
    check_field(User, "email", user.email)
    user.set_unusable_password()
    return user


def set_password(user: User, password: str) -> None:
    """Set the password, on the object only. Raises AccountRefused when a validator refuses it."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise AccountRefused(f"the password is refused: {' '.join(error.messages)}") from None
    user.set_password(password)


def check_field(model: type[models.Model], name: str, value: str) -> None:
    """Raises AccountRefused when the model's field would not take the value, or it has control characters."""
    field: Any = model._meta.get_field(name)
    if not value.isprintable():
        raise AccountRefused(f"{name} {value!r} is refused: it has characters that cannot be printed")
    try:
        field.clean(value, None)
    except ValidationError as error:
        raise AccountRefused(f"{name} {value!r} is refused: {' '.join(error.messages)}") from None
