"""Repository settings that are harmless for git commands that only read.

Invariant: this is an allow-list from git's own documentation (2.25 to 2.53). An unlisted key in a section that git
reads is treated as harmful, because its value may be a program, a file, another repository or more configuration.
"""

import re
from collections.abc import Mapping

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
"""Sections that git reads but that have no key in the list of harmless keys."""

OPEN_SECTIONS = frozenset({"advice", "color", "column", "gui"})
"""Sections of a git configuration in which every setting is harmless."""
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
"""Git settings that are harmless only with certain values, each with a pattern for these values."""
VALUES: Mapping[str, re.Pattern[str]] = {key: re.compile(value) for key, value in _VALUES.items()}
VALUES_OF_SECTIONS: Mapping[str, re.Pattern[str]] = {
    "fsck": re.compile("error|warn|ignore"),
    "pager": re.compile(_SWITCH),
}
"""Sections in which every setting is harmless only with certain values, each with a pattern for these values."""


def _parse_listed() -> Mapping[str, frozenset[str]]:
    lines = re.sub(r"\n +", " ", _TEXT).strip().splitlines()
    pairs = [line.split(": ") for line in lines]
    return {section: frozenset(names.lower().split()) for section, names in pairs}


_LISTED = _parse_listed()
KEYS = frozenset(f"{section}.{name}" for section, names in _LISTED.items() for name in names)
"""Git settings that are harmless with any value, e.g. `branch.*.merge`, where `*` is a subsection."""
SECTIONS = (
    OPEN_SECTIONS
    | frozenset(_OTHER_SECTIONS.split())
    | frozenset(_LISTED)
    | frozenset(VALUES_OF_SECTIONS)
    | frozenset(key.partition(".")[0] for key in VALUES)
    | {"alias"}
)
"""Sections of a git configuration that git or one of its filters reads; all others belong to other tools."""

COMMANDS = frozenset(
    """add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap checkout
    cherry cherry-pick citool clean clone commit config count-objects credential daemon describe diff diff-files
    diff-index diff-tree difftool fetch filter-branch filter-repo for-each-ref format-patch fsck gc grep gui hash-object
    help init instaweb lfs log ls-files ls-remote ls-tree mailinfo merge merge-base merge-tree mergetool mv name-rev notes
    prune pull push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch
    show-ref sparse-checkout stash status submodule svn switch symbolic-ref tag update-ref var verify-commit verify-tag
    version whatchanged worktree""".split()  # noqa: SIM905 - read as a list of words
)
"""Git commands that the policy knows. An alias with the name of such a command is harmful, because an older git may run
the alias.
"""
