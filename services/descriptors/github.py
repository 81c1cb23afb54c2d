"""GitHub's issues, over its REST API (version 2022-11-28)."""

from services.descriptors.entry import READS, SENDS, Entry, number, text, texts, tool

_REPOSITORY = {"owner": text("Whose repository it is, a user or an organization."), "repo": text("Its name.")}
_ISSUE = _REPOSITORY | {"issue_number": number("The issue's number.", 1, 2**31)}
_PAGE = {"per_page": number("How many; 30 by default.", 1, 100), "page": number("Which page, from 1.", 1, 1000)}
_OF_ISSUE = {
    "body": text("Markdown."),
    "labels": texts("Names of labels."),
    "assignees": texts("User names."),
}

ENTRY = Entry(
    name="github",
    title="GitHub issues",
    about="Issues of GitHub repositories: find, read, open, change and comment on them.",
    url="https://api.github.com",
    help="A fine-grained personal access token with the permission Issues, for the repositories that it is about.",
    headers={"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
    tools=(
        tool(
            "search_issues",
            "Find issues and pull requests by words and qualifiers, over all repositories that can be read.",
            "GET /search/issues",
            READS,
            {"q": text("Such as: repo:octo/app is:issue is:open crash")},
            _PAGE | {"sort": text("Best match by default.", enum=["created", "updated", "comments"])},
        ),
        tool(
            "list_issues",
            "The issues of a repository, newest first. Pull requests are among them.",
            "GET /repos/{owner}/{repo}/issues",
            READS,
            _REPOSITORY,
            _PAGE
            | {
                "state": text("Open ones by default.", enum=["open", "closed", "all"]),
                "labels": text("Only those with all of these labels, separated by commas."),
                "assignee": text("Only those of this user."),
                "since": text("Only those that changed since, such as 2026-01-31T00:00:00Z."),
            },
        ),
        tool("get_issue", "One issue.", "GET /repos/{owner}/{repo}/issues/{issue_number}", READS, _ISSUE),
        tool(
            "list_comments",
            "The comments on an issue, oldest first.",
            "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
            READS,
            _ISSUE,
            _PAGE,
        ),
        tool(
            "create_issue",
            "Open an issue. Whoever watches the repository is notified.",
            "POST /repos/{owner}/{repo}/issues",
            SENDS,
            _REPOSITORY | {"title": text("In a line.")},
            _OF_ISSUE,
        ),
        tool(
            "update_issue",
            "Change an issue, close it or open it again. Labels and assignees that are given replace those it has.",
            "PATCH /repos/{owner}/{repo}/issues/{issue_number}",
            SENDS,
            _ISSUE,
            _OF_ISSUE
            | {
                "title": text("In a line."),
                "state": text("Whether it is open.", enum=["open", "closed"]),
                "state_reason": text("Why it is closed.", enum=["completed", "not_planned", "duplicate", "reopened"]),
            },
        ),
        tool(
            "add_comment",
            "Comment on an issue. Whoever takes part in it is notified.",
            "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
            SENDS,
            _ISSUE | {"body": text("Markdown.")},
        ),
    ),
)
