"""L1: what issued keys look like: a beginning that tells who issued it, an alphabet, a length.

Invariant: facts only, as their issuers and public scanners state them; no entry matches a hash, an id or a word.
"""

import re
from collections.abc import Iterator

HEX, LOW, ALNUM, WORD, BASE64 = "a-fA-F0-9", "a-z0-9", "A-Za-z0-9", "A-Za-z0-9_-", "A-Za-z0-9+/_=-"
EDGE = r"(?:(?<![A-Za-z0-9])|(?<=[0-9;\[]m)|(?<=\\[nrtbf])|(?<=\\u00[01][0-9A-Fa-f]))"
"""Where a key begins: not within a word, but right behind a colour of the terminal or an escaped line break."""

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
    ("openrouter key", "sk-or-v1- sk-or-", WORD, 32, 250),
    ("defined networking token", "dnkey-", WORD, 60, 120),
    ("anthropic key", "sk-ant-", WORD, 16, 250),
    ("npm token", "npm_", ALNUM, 30, 60),
    ("pypi token", "pypi-", WORD, 40, 1_000),
    ("hugging face token", "hf_ api_org_", ALNUM, 30, 60),
    ("google token", "ya29. GOCSPX-", "A-Za-z0-9_.-", 20, 500),
    ("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", HEX, 64, 64),
    ("shopify token", "shpat_ shpca_ shppa_ shpss_", HEX, 32, 32),
    ("stripe key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_", "A-Za-z0-9+/=", 10, 250),
    ("square token", "sq0atp- sq0csp- EAAA", WORD, 22, 80),
    ("meta token", "EAA", ALNUM, 100, 400),
    ("sendinblue key", "xkeysib- xsmtpsib-", "a-zA-Z0-9-", 60, 120),
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
    ("adobe secret", "p8e-", ALNUM, 32, 32),
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
    ("apify token", "apify_api_", ALNUM, 30, 50),
    ("braintree token", "access_token$production$ access_token$sandbox$", "a-z0-9$", 40, 60),
    ("buildkite token", "bkua_ bkat_", HEX, 40, 40),
    ("cerebras key", "csk-", LOW, 40, 60),
    ("circleci token", "CCIPAT_ CCIPRJ_", "A-Za-z0-9_", 40, 90),
    ("contentful token", "CFPAT-", WORD, 40, 50),
    ("crates.io token", "cio", ALNUM, 32, 32),
    ("cursor key", "key_", HEX, 64, 64),
    ("dropbox token", "sl.", "A-Za-z0-9_.-", 60, 2_000),
    ("e2b key", "e2b_", HEX, 40, 40),
    ("elevenlabs key", "sk_", HEX, 48, 48),
    ("firecrawl key", "fc-", HEX, 32, 32),
    ("gemini key", "AQ.Ab", WORD, 30, 80),
    ("google refresh token", "1//0", WORD, 40, 120),
    ("google storage key id", "GOOG1E", "A-Z0-9", 55, 60),
    ("hubspot token", "pat-na1- pat-na2- pat-eu1-", "a-f0-9-", 36, 36),
    ("inngest key", "signkey-prod- signkey-test-", HEX, 32, 64),
    ("jina key", "jina_", ALNUM, 40, 80),
    ("launchdarkly key", "sdk- mob- api-", "a-f0-9-", 36, 36),
    ("mandrill key", "md-", WORD, 22, 22),
    ("mapbox token", "sk.eyJ", "A-Za-z0-9_.-", 40, 200),
    ("mollie key", "live_", ALNUM, 30, 30),
    ("neon key", "napi_", LOW, 40, 80),
    ("neon password", "npg_", ALNUM, 12, 20),
    ("nostr key", "nsec1", LOW, 58, 58),
    ("nuget key", "oy2", LOW, 43, 43),
    ("nvidia key", "nvapi-", WORD, 40, 80),
    ("onesignal key", "os_v2_app_ os_v2_org_", LOW, 60, 140),
    ("pinecone key", "pcsk_", "A-Za-z0-9_", 50, 90),
    ("posthog key", "phx_", ALNUM, 40, 60),
    ("razorpay key", "rzp_live_ rzp_test_", ALNUM, 14, 14),
    ("render key", "rnd_", ALNUM, 28, 40),
    ("resend key", "re_", "A-Za-z0-9_", 32, 40),
    ("tailscale key", "tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook-", WORD, 20, 80),
    ("trello token", "ATTA", HEX, 72, 72),
    ("voyage key", "pa-", WORD, 43, 43),
    ("wallet key", "xprv yprv zprv tprv", ALNUM, 100, 112),
    ("wallet key", "5H 5J 5K", ALNUM, 49, 49),
    ("yandex key", "AQVN", WORD, 35, 40),
)
"""Kind, beginnings, alphabet behind them, and how many characters of it there are, least and most."""

SHAPES: tuple[tuple[str, str, str], ...] = (
    ("google key", "aiza", r"AIza[A-Za-z0-9_-]{35}"),
    ("google client secret", "gocspx-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    ("sendgrid key", "sg.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
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
    ("twilio key", " ".join(f"sk{digit}" for digit in "0123456789abcdef"), r"SK[0-9a-f]{32}"),
    ("anaconda token", "ab-", r"ab-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("okta token", "ssws", r"SSWS\s{1,3}00[A-Za-z0-9_-]{40}"),
)  # fmt: skip
"""Keys of more than one piece."""
_INNER = ("q~", "_mmk")
"""Triggers in the middle or at the end."""


def formats() -> Iterator[tuple[str, tuple[str, ...], str, bool]]:
    """Every format: its kind, lower-case words one of which is in every key, its pattern, and whether keys begin so."""
    for kind, starts, alphabet, least, most in TOKENS:
        words = starts.split()
        begin = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
        pattern = rf"{EDGE}(?:{begin})[{alphabet}]{{{least},{most}}}(?![{alphabet}])"
        yield kind, tuple(word.lower() for word in words), pattern, True
    for kind, words_of, shape in SHAPES:
        yield (
            kind,
            tuple(words_of.split()),
            rf"{EDGE}{shape}(?![A-Za-z0-9])",
            words_of[0].isalnum() and words_of not in _INNER,
        )
