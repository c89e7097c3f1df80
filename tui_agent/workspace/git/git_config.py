"""Strict reader of a repository's git configuration.

Invariant: a file with a line of unusual form, or with a setting not known to be harmless, is refused.
"""

import re
from collections.abc import Mapping

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.git.stat_cache import UnsafeRepositoryError, read_small

_TEXT = """
add: ignoreerrors
am: keepcr threeway messageid
apply: ignorewhitespace whitespace
author: name email
blame: blankboundary coloring date markignoredlines markunblamablelines showemail showroot
branch: autosetupmerge autosetuprebase *.description *.merge *.pushremote *.rebase *.remote
checkout: defaultremote guess thresholdforparallelism workers
clean: requireforce
clone: defaultremotename rejectshallow
commit: cleanup gpgsign status verbose
commitgraph: changedpaths changedpathsversion generationversion maxnewfilters readchangedpaths
committer: name email
core: abbrev autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar commentstring commitgraph
    compression createobject deltabasecachelimit eol filemode filesreflocktimeout fscache fsync fsyncmethod
    fsyncobjectfiles hidedotfiles ignorecase ignorestat logallrefupdates longpaths loosecompression maxtreedepth
    multipackindex notesref packedgitlimit packedgitwindowsize packedrefstimeout precomposeunicode preloadindex protecthfs
    protectntfs quotepath restrictinheritedhandles safecrlf sharedrepository sparsecheckout
    sparsecheckoutcone symlinks trustctime usereplacerefs untrackedcache warnambiguousrefs whitespace
credential: provider usehttppath username *.provider *.usehttppath *.username
diff: algorithm autorefreshindex colormoved colormovedws context dirstat dstprefix ignoresubmodules indentheuristic
    interhunkcontext mnemonicprefix noprefix relative renamelimit renames srcprefix statgraphwidth statnamewidth
    suppressblankempty wserrorhighlight *.binary *.algorithm
difftool: prompt trustexitcode
extensions: noop noop-v1 preciousobjects relativeworktrees worktreeconfig
feature: experimental manyfiles
fetch: all fsckobjects negotiationalgorithm output parallel prune prunetags recursesubmodules showforcedupdates
    unpacklimit writecommitgraph
format: attach cc coverfromdescription coverletter encodeemailheaders filenamemaxlength forceinbodyfrom from notes
    numbered signature signoff subjectprefix thread to useautobase
gc: aggressivedepth aggressivewindow auto autodetach autopacklimit bigpackthreshold cruftpacks logexpiry maxcruftsize
    packrefs pruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved worktreepruneexpire
    writecommitgraph *.reflogexpire *.reflogexpireunreachable
gpg: mintrustlevel
grep: column extendedregexp fullname linenumber patterntype threads
http: delegation emptyauth extraheader followredirects lowspeedlimit lowspeedtime maxrequests minsessions postbuffer
    proxy proxyauthmethod sslverify sslversion useragent version *.delegation *.emptyauth *.extraheader
    *.followredirects *.lowspeedlimit *.lowspeedtime *.postbuffer *.proxy *.proxyauthmethod *.sslverify *.useragent
i18n: commitencoding logoutputencoding
index: recordendofindexentries recordoffsettable skiphash threads version
init: defaultbranch
interactive: singlekey
lfs: activitytimeout allowincompletepush basictransfersonly batch concurrenttransfers contenttype dialtimeout
    fetchexclude fetchinclude fetchrecentalways fetchrecentcommitsdays fetchrecentrefsdays fetchrecentremoterefs
    lockignoredfiles locksverify pruneoffsetdays pruneremotetocheck pruneverifyremotealways pushurl
    repositoryformatversion setlockablereadonly skipdownloaderrors tlstimeout tustransfers url *.access *.locksverify
log: abbrevcommit date decorate excludedecoration follow graphcolors initialdecorationset mailmap showroot
mailinfo: scissors
maintenance: auto autodetach strategy *.auto *.enabled *.schedule
merge: autoedit autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff log renamelimit renames
    renormalize stat suppressdest verbosity *.name *.recursive
mergetool: hideresolved keepbackup keeptemporaries prompt writetotemp
notes: displayref mergestrategy rewritemode rewriteref *.mergestrategy
pack: allowpackreuse compression deltacachelimit deltacachesize depth indexversion packsizelimit readreverseindex threads
    usebitmaps usesparse window windowmemory writebitmaphashcache writebitmaplookuptable writereverseindex
pull: ff rebase
push: autosetupremote default followtags gpgsign negotiate recursesubmodules useforceifincludes
rebase: abbreviatecommands autosquash autostash backend forkpoint missingcommitscheck rebasemerges reschedulefailedexec
    stat updaterefs
receive: autogc denycurrentbranch denydeletecurrent denydeletes denynonfastforwards fsckobjects shallowupdate unpacklimit
remote: pushdefault *.fetch *.followremotehead *.lfsurl *.lfspushurl *.mirror *.proxy *.proxyauthmethod *.prune
    *.prunetags *.push *.pushurl *.skipdefaultupdate *.skipfetchall *.tagopt *.url
repack: packkeptobjects updateserverinfo usedeltabaseoffset usedeltaislands writebitmaps
rerere: autoupdate enabled
sendemail: annotate bcc cc chainreplyto confirm from signedoffbycc suppresscc suppressfrom thread to validate xmailer
sparse: expectfilesoutsideofpatterns
splitindex: maxpercentchange sharedindexexpire
stash: showincludeuntracked showpatch showstat
status: aheadbehind branch displaycommentprefix relativepaths renamelimit renames short showstash showuntrackedfiles
submodule: active alternateerrorstrategy alternatelocation fetchjobs propagatebranches *.active *.branch
    *.fetchrecursesubmodules *.ignore *.shallow *.url
tag: forcesignannotated gpgsign
tar: umask
transfer: advertisesid fsckobjects hiderefs unpacklimit
uploadpack: allowanysha1inwant allowfilter allowreachablesha1inwant allowtipsha1inwant hiderefs keepalive
url: *.insteadof *.pushinsteadof
user: name email signingkey useconfigonly
versionsort: suffix
worktree: guessremote userelativepaths
"""
_OTHER_SECTIONS = """
attr bitmappseudomerge browser bundle completion credentialcache credentialstore diffhunks fastimport filter fsmonitor
gitcvs gitweb guitool help history hook imap include includeif instaweb lsrefs mailmap man pretty promisor protocol
reftable remotes replay revert safe sequence showbranch sideband ssh trace2 trailer uploadarchive uploadpackfilter web
"""
"""Names of sections that git reads. None of their settings is known to be harmless."""

OPEN_SECTIONS = frozenset({"advice", "color", "column", "gui"})
"""Git configuration sections with only harmless settings."""
_SWITCH = "(?i:|true|false|yes|no|on|off|0|1)"
_OFF = "(?i:|false|no|off|0)"
_LFS_SKIP = r"(?: --skip)?"
_HELPER = r"|[\w-]+|!(?:/usr/(?:local/)?bin/)?gh auth git-credential"
_SORT = r"-?(?:(?:v|version):)?(?:refname|[a-z]+date)"
_VALUES = {
    "blame.ignorerevsfile": r"\.git-blame-ignore-revs",
    "branch.sort": _SORT,
    "commit.template": r"\.?[\w-]+(?:\.txt)?",
    "core.fsmonitor": "(?i:|true|false|no|off|0|1)",  # git before 2.36 runs the value as a program: `yes` would never end
    "core.repositoryformatversion": "[01]",  # git does not accept a repository with another version
    "core.sshcommand": r"ssh(?: -i [\w./~@-]+| -o IdentitiesOnly=yes| -F /dev/null)*",
    "credential.helper": _HELPER,
    "credential.*.helper": _HELPER,
    "diff.guitool": r"[\w-]+",
    "diff.submodule": "short",
    "diff.tool": r"[\w-]+",
    "extensions.objectformat": "sha1",
    "extensions.refstorage": "files",
    "filter.lfs.clean": r"git-lfs clean -- %f",
    "filter.lfs.process": rf"git-lfs filter-process{_LFS_SKIP}",
    "filter.lfs.required": _SWITCH,
    "filter.lfs.smudge": rf"git-lfs smudge{_LFS_SKIP} -- %f",
    "format.pretty": "oneline|short|medium|full|fuller|reference|email|raw|mboxrd",
    "gpg.format": "openpgp|x509|ssh",
    "log.showsignature": _OFF,
    "merge.*.driver": "true",
    "merge.guitool": r"[\w-]+",
    "merge.tool": r"[\w-]+",
    "protocol.version": "[0-2]",
    "remote.*.promisor": _OFF,
    "submodule.*.update": "checkout|rebase|merge|none",
    "submodule.recurse": _OFF,
    "tag.sort": _SORT,
}
"""Maps a git setting to a pattern for its harmless values."""
VALUES: Mapping[str, re.Pattern[str]] = {key: re.compile(value) for key, value in _VALUES.items()}
VALUES_OF_SECTIONS: Mapping[str, re.Pattern[str]] = {
    "fsck": re.compile("error|warn|ignore"),
    "pager": re.compile(_SWITCH),
}
"""Maps a section to a pattern for the harmless values of all its settings."""


def _parse_listed() -> Mapping[str, frozenset[str]]:
    lines = re.sub(r"\n +", " ", _TEXT).strip().splitlines()
    pairs = [line.split(": ") for line in lines]
    return {section: frozenset(names.lower().split()) for section, names in pairs}


_LISTED = _parse_listed()
KEYS = frozenset(f"{section}.{name}" for section, names in _LISTED.items() for name in names)
"""Git settings that are harmless with any value. In `branch.*.merge`, `*` is a subsection."""
SECTIONS = (
    OPEN_SECTIONS
    | frozenset(_OTHER_SECTIONS.split())
    | frozenset(_LISTED)
    | frozenset(VALUES_OF_SECTIONS)
    | frozenset(key.partition(".")[0] for key in VALUES)
    | {"alias"}
)
"""Git configuration sections read by git or one of its filters."""

COMMANDS = frozenset(
    """add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap checkout
    cherry cherry-pick citool clean clone commit config count-objects credential daemon describe diff diff-files
    diff-index diff-tree difftool fetch filter-branch filter-repo for-each-ref format-patch fsck gc grep gui hash-object
    help init instaweb lfs log ls-files ls-remote ls-tree mailinfo merge merge-base merge-tree mergetool mv name-rev notes
    prune pull push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch
    show-ref sparse-checkout stash status submodule svn switch symbolic-ref tag update-ref var verify-commit verify-tag
    version whatchanged worktree""".split()  # noqa: SIM905 - read as a list of words
)
"""Git commands that the policy knows. An alias with one of these names counts as harmful."""
# A git version without the command runs the alias.


MAX_BYTES = 256_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
_BLANK_OR_COMMENT = re.compile(r"(?:[#;].*)?")
_SECTION = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]++"([^"\\]*)")?\]')
_SETTING = re.compile(
    r"([A-Za-z][A-Za-z0-9-]*)[ \t]*+"
    r'(?:=[ \t]*+(?:"((?:[^"\\]|\\["\\ntb])*+)"|((?:[^"\\;#]|\\["\\ntb])*+)))?'
)
"""Regular expression for a key and its value; possessive quantifiers prevent slow matching."""
_TOOL_SECTIONS = frozenset({"branch", "remote"})
"""Sections in which a key with a hyphen belongs to another tool. Such a key is harmless for git."""


@dataclass(frozen=True, slots=True)
class GitConfig:
    """The settings of one git configuration file that name other folders.

    All other settings of the file are harmless.
    """

    hooks: tuple[str, ...] = ()
    """Values of `core.hooksPath`."""
    work_trees: tuple[str, ...] = ()
    """Values of `core.worktree`."""


def read_config(path: str) -> GitConfig:
    """Read a git configuration file.

    Raise `UnsafeRepositoryError` if a line is not simple or a setting is not known to be harmless.
    """
    try:
        text = read_small(path, MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsafeRepositoryError(f"{path} is not UTF-8") from error
    if _CONTROL.search(text):
        raise UnsafeRepositoryError(f"{path} has control characters")
    settings = list(_parse(text, path))
    return GitConfig(
        hooks=tuple(value for key, value in settings if key == "core.hookspath"),
        work_trees=tuple(value for key, value in settings if key == "core.worktree"),
    )


def _parse(text: str, path: str) -> list[tuple[str, str]]:
    """Return the settings that name other folders, as (key, value).

    Raise `UnsafeRepositoryError` for any setting that is not certainly harmless.
    """
    redirects: list[tuple[str, str]] = []
    section = subsection = None
    for raw_line in text.split("\n"):
        line = raw_line.strip(" \t")
        if _BLANK_OR_COMMENT.fullmatch(line):
            # It is doubtful if the next line belongs to the comment.
            if raw_line.endswith("\\"):
                raise UnsafeRepositoryError(f"a comment in {path} ends with a backslash")
        elif header := _SECTION.fullmatch(line):
            section, subsection = header[1].lower(), header[2]
        elif section is not None and (setting := _SETTING.fullmatch(line)):
            name, value = setting[1].lower(), setting[2] or setting[3] or ""
            if subsection is None and (section, name) in {("core", "hookspath"), ("core", "worktree")}:
                redirects.append((f"{section}.{name}", _plain_path(value, path)))
            elif not _is_harmless(section, subsection, name, value):
                raise UnsafeRepositoryError(f"{path} sets {section}.{name}")
        else:
            raise UnsafeRepositoryError(f"a line of {path} has an unsupported form")
    return redirects


def _plain_path(value: str, path: str) -> str:
    if not value or "\\" in value or value[0] in "%:":
        raise UnsafeRepositoryError(f"a path in {path} has an unsupported form")
    return value


def _is_harmless(section: str, subsection: str | None, name: str, value: str) -> bool:
    if section not in SECTIONS or section in OPEN_SECTIONS:
        return True
    if section == "alias":  # git's own commands take precedence over aliases
        return subsection is None and name not in COMMANDS
    if pattern := VALUES_OF_SECTIONS.get(section):
        return subsection is None and pattern.fullmatch(value) is not None
    key = f"{section}.{name}" if subsection is None else f"{section}.*.{name}"
    if key in KEYS or (section in _TOOL_SECTIONS and subsection is not None and "-" in name):
        return True
    allowed = VALUES.get(key) or VALUES.get(f"{section}.{subsection}.{name}")
    return allowed is not None and allowed.fullmatch(value) is not None
