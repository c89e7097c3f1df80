"""L1: what issued keys look like: a beginning that tells who issued it, an alphabet, a length.

Invariant: facts only, as their issuers and public scanners state them; no entry matches a hash, an id or a word.
"""

import re
from collections.abc import Iterator

HEX, LOW, ALNUM, WORD, BASE64 = "a-fA-F0-9", "a-z0-9", "A-Za-z0-9", "A-Za-z0-9_-", "A-Za-z0-9+/_=-"
EDGE = r"(?:(?<![A-Za-z0-9])|(?<=[0-9;\[]m))"
"""Where a key begins: not within a word, but right behind a colour of the terminal."""

TOKENS: tuple[tuple[str, str, str, int, int], ...] = (
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", ALNUM, 30, 255),
    ("github token", "github_pat_", "A-Za-z0-9_", 22, 255),
    (
        "gitlab token",
        "glpat- gldt- glrt- glptt- glcbt- gloas- glft- glffct- glimt- glagent- glsoat- GR1348941",
        "A-Za-z0-9_.-",
        18,
        300,
    ),
    (
        "slack token",
        "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xoxb- xoxe.xoxp- xapp-",
        "A-Za-z0-9-",
        10,
        250,
    ),
    ("anthropic key", "sk-ant-", WORD, 16, 250),
    ("npm token", "npm_", ALNUM, 30, 60),
    ("pypi token", "pypi-", WORD, 40, 1_000),
    ("hugging face token", "hf_ api_org_", ALNUM, 30, 60),
    ("google token", "ya29. GOCSPX-", "A-Za-z0-9_.-", 20, 500),
    ("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", HEX, 64, 64),
    ("shopify token", "shpat_ shpca_ shppa_ shpss_", HEX, 32, 32),
    ("stripe key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_", "A-Za-z0-9+/=", 10, 250),
    ("square token", "sq0atp- sq0csp- EAAA", WORD, 22, 80),
    ("meta token", "EAAM EAAC", ALNUM, 100, 400),
    ("sendinblue key", "xkeysib- xsmtpsib-", "a-zA-Z0-9-", 60, 120),
    ("mailgun key", "key-", HEX, 32, 32),
    ("databricks token", "dapi", "a-f0-9-", 32, 36),
    ("doppler token", "dp.pt. dp.st. dp.ct. dp.sa.", "A-Za-z0-9.", 40, 80),
    ("duffel token", "duffel_test_ duffel_live_", "A-Za-z0-9_=-", 43, 43),
    ("dynatrace token", "dt0c01. dt0s01.", "A-Za-z0-9.", 80, 100),
    ("easypost key", "EZAK EZTK", ALNUM, 54, 54),
    ("flutterwave key", "FLWSECK_TEST- FLWSECK-", "A-Za-z0-9-", 12, 60),
    ("fly.io token", "fo1_ fm1a_ fm1r_ fm2_", "A-Za-z0-9+/=_-", 40, 1_000),
    ("frame.io token", "fio-u-", "A-Za-z0-9_=-", 60, 64),
    ("grafana token", "glc_ glsa_", BASE64, 32, 400),
    ("heroku key", "HRKU-", WORD, 30, 80),
    ("infracost key", "ico-", ALNUM, 32, 32),
    ("linear key", "lin_api_ lin_oauth_", ALNUM, 32, 64),
    ("maxmind key", "mmk_", ALNUM, 29, 40),
    ("new relic key", "NRAK- NRII- NRJS-", "A-Za-z0-9-", 19, 40),
    ("notion token", "ntn_ secret_", ALNUM, 40, 60),
    ("octopus key", "API-", "A-Z0-9", 26, 40),
    ("openshift token", "sha256~", WORD, 43, 43),
    ("perplexity key", "pplx-", ALNUM, 40, 64),
    ("planetscale token", "pscale_tkn_ pscale_oauth_ pscale_pw_", "A-Za-z0-9_=.-", 32, 64),
    ("postman key", "PMAK-", "a-fA-F0-9-", 50, 70),
    ("prefect key", "pnu_ pnb_", ALNUM, 36, 36),
    ("pulumi token", "pul-", "a-f0-9", 40, 40),
    ("readme key", "rdme_", LOW, 60, 80),
    ("rubygems key", "rubygems_", HEX, 48, 48),
    ("scalingo token", "tk-us- tk-eu-", WORD, 40, 60),
    ("sentry token", "sntrys_ sntryu_", BASE64, 40, 500),
    ("settlemint token", "sm_aat_ sm_pat_ sm_sat_", ALNUM, 16, 40),
    ("shippo token", "shippo_live_ shippo_test_", HEX, 40, 40),
    ("sourcegraph token", "sgp_", "A-Za-z0-9_", 40, 64),
    ("sonar token", "squ_ sqp_ sqa_", HEX, 40, 40),
    ("typeform token", "tfp_", "A-Za-z0-9_.=-", 40, 64),
    ("vault token", "hvs. hvb. hvr.", WORD, 24, 300),
    ("adobe secret", "p8e-", LOW, 32, 32),
    ("age key", "AGE-SECRET-KEY-1", "A-Z0-9", 50, 60),
    ("alibaba key id", "LTAI", ALNUM, 16, 24),
    ("artifactory key", "AKCp cmVmd", ALNUM, 59, 80),
    ("bedrock key", "ABSK", "A-Za-z0-9+/=", 100, 280),
    ("clojars token", "CLOJARS_", LOW, 60, 60),
    ("clickhouse key", "4b1d", ALNUM, 38, 38),
    ("confluence token", "ATATT3 ATCTT3 ATBB", "A-Za-z0-9_=+/-", 24, 260),
    ("groq key", "gsk_", ALNUM, 40, 64),
    ("xai key", "xai-", ALNUM, 40, 100),
    ("replicate token", "r8_", ALNUM, 36, 44),
    ("fireworks key", "fw_", ALNUM, 20, 40),
    ("tavily key", "tvly-", WORD, 20, 60),
    ("langsmith key", "lsv2_pt_ lsv2_sk_ ls__", "A-Za-z0-9_", 32, 80),
    ("docker token", "dckr_pat_ dckr_oat_", WORD, 20, 60),
    ("supabase token", "sbp_ sb_secret_", "A-Za-z0-9_-", 30, 60),
    ("figma token", "figd_ figu_", WORD, 30, 60),
    ("netlify token", "nfp_", ALNUM, 36, 44),
    ("vercel token", "vcp_ vck_ vca_ vci_", ALNUM, 20, 80),
)
"""Kind, beginnings, alphabet behind them, and how many characters of it there are, least and most."""

SHAPES: tuple[tuple[str, str, str], ...] = (
    ("google key", "aiza", r"AIza[A-Za-z0-9_-]{35}"),
    ("google client secret", "gocspx-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    ("sendgrid key", "sg.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    ("telegram token", ":aa", r"[0-9]{5,16}:AA[A-Za-z0-9_-]{32,34}"),
    ("1password key", "a3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("1password token", "ops_", r"ops_eyJ[A-Za-z0-9+/=]{100,2000}"),
    ("azure secret", "q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("mailchimp key", "-us1 -us2 -us3 -us4 -us5 -us6 -us7 -us8 -us9", r"[a-f0-9]{32}-us[0-9]{1,2}"),
    ("terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    ("harness key", "pat. sat.", r"(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    ("maxmind key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("intra42 secret", "s-s4t2", r"s-s4t2(?:ud|af)-[a-f0-9]{64}"),
    ("plaid token", "access-", r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("cloudflare key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,160}"),
    ("grafana key", "eyjrijoi", r"eyJrIjoi[A-Za-z0-9+/=]{60,400}"),
    ("okta token", "ssws", r"SSWS\s{1,3}00[A-Za-z0-9_-]{40}"),
)  # fmt: skip
"""Keys of more than one piece."""


def formats() -> Iterator[tuple[str, tuple[str, ...], re.Pattern[str], bool]]:
    """Every format: its kind, lower-case words one of which is in every key, its pattern, and whether keys begin so."""
    for kind, starts, alphabet, least, most in TOKENS:
        words = starts.split()
        begin = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        pattern = rf"{EDGE}(?:{begin})[{alphabet}]{{{least},{most}}}(?![{alphabet}])"
        yield kind, tuple(word.lower() for word in words), re.compile(pattern), True
    for kind, words_of, shape in SHAPES:
        yield kind, tuple(words_of.split()), re.compile(rf"{EDGE}{shape}(?![A-Za-z0-9])"), words_of != "q~"
