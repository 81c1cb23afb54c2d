"""How the operators' admin looks."""

UNFOLD = {
    "SITE_TITLE": "Toolgate",
    "SITE_HEADER": "Toolgate",
    "SITE_SUBHEADER": "Operators' view of every tenant",
    "SITE_ICON": lambda request: "/static/img/logo.svg",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: "/static/img/logo.svg"},
    ],
    "SHOW_VIEW_ON_SITE": False,
    "COLORS": {
        "primary": {
            "50": "#eef1fd",
            "100": "#e0e6fc",
            "200": "#c6d0fa",
            "300": "#a3b3f6",
            "400": "#7b90ee",
            "500": "#536de2",
            "600": "#2f4fd0",
            "700": "#2741ae",
            "800": "#23388c",
            "900": "#202f6f",
            "950": "#141d46",
        }
    },
    "SIDEBAR": {"show_search": True, "show_all_applications": False},
}
