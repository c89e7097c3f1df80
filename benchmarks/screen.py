"""A text-only terminal emulator that computes the screen of a full-screen program from its output.

Invariant: `feed` accepts any bytes. Queries of the program are answered as a plain modern terminal would.
"""

import codecs
import re
import unicodedata

SEQ = re.compile(
    r"\x1b\[([<=>?]?)([0-?]*)([ -/]*)([@-~])"  # CSI: 1 prefix 2 params 3 intermediates 4 final
    r"|\x1b\](.*?)(?:\x07|\x1b\\)"  # OSC: 5
    r"|\x1b([P_^X])(.*?)\x1b\\"  # DCS APC PM SOS: 6 kind 7 text
    r"|\x1b[ -/]+[0-~]|\x1b([0-OQ-WYZ\\`-~])|\x1b(?=[\x00-\x1f])"  # other escapes: 8
    r"|([\x00-\x1a\x1c-\x1f\x7f])|([^\x00-\x1f\x7f]+)",
    re.S,
)  # 9 control, 10 printable run


class Screen:
    """Terminal emulator with characters and a cursor, but no attributes. `feed` returns the answers to queries."""

    def __init__(self, cols, rows):
        self.w, self.h, self.rest = cols, rows, ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.clears = self.frames = 0
        self.normal = None  # the normal screen and its cursor while the alternate one is shown
        self.reset()

    def reset(self):
        self.rows = [[" "] * self.w for _ in range(self.h)]
        self.x = self.y = self.top = 0
        self.bottom = self.h - 1
        self.saved = (0, 0)
        self.last = " "

    def text(self):
        return ["".join(r) for r in self.rows]

    def scroll(self, n, top=None):
        top = self.top if top is None else top
        for _ in range(min(abs(n), self.h)):
            if n > 0:
                del self.rows[top]
                self.rows.insert(self.bottom, [" "] * self.w)
            else:
                del self.rows[self.bottom]
                self.rows.insert(top, [" "] * self.w)

    def down(self):
        if self.y == self.bottom:
            self.scroll(1)
        elif self.y < self.h - 1:
            self.y += 1

    def put(self, s):
        self.last = s[-1]
        if s.isascii() or not any(
            ord(c) > 0x2FFF or unicodedata.combining(c) or unicodedata.east_asian_width(c) in "WF" for c in s
        ):
            while s:
                if self.x >= self.w:
                    self.x = 0
                    self.down()
                part, s = s[: self.w - self.x], s[self.w - self.x :]
                self.rows[self.y][self.x : self.x + len(part)] = part
                self.x += len(part)
            return
        for c in s:
            if unicodedata.combining(c) or c in "\u200d\ufe0f\ufe0e":
                continue
            width = 2 if unicodedata.east_asian_width(c) in "WF" else 1
            if self.x + width > self.w:
                self.x = 0
                self.down()
            self.rows[self.y][self.x : self.x + width] = [c, ""][:width]
            self.x += width

    def feed(self, data):
        answers, s, pos = [], self.rest + self.decoder.decode(data), 0
        while pos < len(s):
            m = SEQ.match(s, pos)
            if not m:
                break  # an unfinished escape: keep it for the next chunk
            pos = m.end()
            if m[10]:
                self.put(m[10])
            elif m[9]:
                self.control(m[9])
            elif m[4]:
                answers.append(self.csi(m[1], m[2], m[3], m[4]))
            elif m[5] is not None:
                answers.append(self.osc(m[5]))
            elif m[6]:
                answers.append(
                    {"+q": "\x1bP0+r\x1b\\", "$q": "\x1bP0$r\x1b\\"}.get(m[7][:2]) if m[6] == "P" else None
                )
            elif m[8]:
                self.escape(m[8])
        self.rest = s[pos:] if len(s) - pos < 1 << 20 else ""
        return "".join(a for a in answers if a)

    def control(self, c):
        if c == "\r":
            self.x = 0
        elif c in "\n\v\f":
            self.down()
        elif c == "\b":
            self.x = max(0, min(self.x, self.w - 1) - 1)
        elif c == "\t":
            self.x = min(self.w - 1, (self.x // 8 + 1) * 8)

    def escape(self, c):
        if c == "D":
            self.down()
        elif c == "E":
            self.x = 0
            self.down()
        elif c == "M":
            if self.y == self.top:
                self.scroll(-1)
            else:
                self.y = max(0, self.y - 1)
        elif c == "7":
            self.saved = (self.x, self.y)
        elif c == "8":
            self.x, self.y = self.saved
        elif c == "c":
            self.clears += 1
            self.reset()

    def osc(self, t):
        if t.startswith(("10;?", "12;?")):
            return f"\x1b]{t[:2]};rgb:d0d0/d0d0/d0d0\x1b\\"
        if t.startswith("11;?"):
            return "\x1b]11;rgb:1010/1010/1010\x1b\\"
        if t.startswith("4;") and t.endswith("?"):
            return f"\x1b]{t[:-1]}rgb:8080/8080/8080\x1b\\"
        return None

    def erase(self, y, a, b):
        self.rows[y][a:b] = [" "] * max(0, min(b, self.w) - a)

    def csi(self, prefix, params, mid, f):
        p = [int(m[0]) if (m := re.match(r"\d+", v)) else 0 for v in params.split(";")]
        n = p[0] or 1
        if prefix or mid:  # queries and modes
            if f == "c":
                return {"": "\x1b[?62;22c", ">": "\x1b[>1;10;0c", "=": "\x1bP!|00000000\x1b\\"}.get(prefix)
            if (prefix, f) == (">", "q"):
                return "\x1bP>|ptybench(1)\x1b\\"
            if (prefix, f) == ("?", "u"):
                return "\x1b[?0u"
            if (prefix, f) == ("?", "n"):
                return f"\x1b[?{self.y + 1};{self.x + 1}R" if p[0] == 6 else None
            if (prefix, mid, f) == ("?", "$", "p"):
                return f"\x1b[?{p[0]};{2 if p[0] in (25, 1000, 1006, 1049, 2004, 2026) else 0}$y"
            if prefix == "?" and f == "h":
                self.frames += 2026 in p
                if {47, 1047, 1049} & set(p):
                    self.normal = (self.rows, self.x, self.y)
                    self.rows = [[" "] * self.w for _ in range(self.h)]
            if prefix == "?" and f == "l" and {47, 1047, 1049} & set(p) and self.normal:
                (self.rows, self.x, self.y), self.normal = self.normal, None
            if not (prefix == "?" and f in "JK"):
                return None
        if f == "m":
            return None
        if f in "Hf":
            self.y, self.x = min(self.h, n) - 1, min(self.w, (p[1] if len(p) > 1 else 0) or 1) - 1
        elif f == "A":
            self.y = max(self.top if self.y >= self.top else 0, self.y - n)
        elif f in "Be":
            self.y = min(self.bottom if self.y <= self.bottom else self.h - 1, self.y + n)
        elif f in "Ca":
            self.x = min(self.w - 1, self.x + n)
        elif f == "D":
            self.x = max(0, min(self.x, self.w - 1) - n)
        elif f == "E":
            self.y, self.x = min(self.h - 1, self.y + n), 0
        elif f == "F":
            self.y, self.x = max(0, self.y - n), 0
        elif f in "G`":
            self.x = min(self.w, n) - 1
        elif f == "d":
            self.y = min(self.h, n) - 1
        elif f == "J":
            if p[0] == 0:
                if self.x == self.y == 0:
                    self.clears += 1
                self.erase(self.y, self.x, self.w)
                for y in range(self.y + 1, self.h):
                    self.erase(y, 0, self.w)
            elif p[0] == 1:
                for y in range(self.y):
                    self.erase(y, 0, self.w)
                self.erase(self.y, 0, self.x + 1)
            elif p[0] == 2:
                self.clears += 1
                for y in range(self.h):
                    self.erase(y, 0, self.w)
        elif f == "K":
            self.erase(self.y, *((self.x, self.w), (0, self.x + 1), (0, self.w))[min(p[0], 2)])
        elif f == "X":
            self.erase(self.y, self.x, self.x + n)
        elif f == "P":
            r = self.rows[self.y]
            del r[self.x : self.x + n]
            r += [" "] * (self.w - len(r))
        elif f == "@":
            r = self.rows[self.y]
            r[self.x : self.x] = [" "] * n
            del r[self.w :]
        elif f == "L" and self.top <= self.y <= self.bottom:
            self.scroll(-n, self.y)
        elif f == "M" and self.top <= self.y <= self.bottom:
            self.scroll(n, self.y)
        elif f == "S":
            self.scroll(n)
        elif f == "T":
            self.scroll(-n)
        elif f == "b":
            self.put(self.last * n)
        elif f == "r":
            self.top, self.bottom = n - 1, min(self.h, (p[1] if len(p) > 1 else 0) or self.h) - 1
            self.x = self.y = 0
        elif f == "s":
            self.saved = (self.x, self.y)
        elif f == "u":
            self.x, self.y = self.saved
        elif f == "n":
            return "\x1b[0n" if p[0] == 5 else f"\x1b[{self.y + 1};{min(self.x, self.w - 1) + 1}R"
        elif f == "c":
            return "\x1b[?62;22c"
        elif f == "t":
            return {
                14: f"\x1b[4;{self.h * 20};{self.w * 10}t",
                16: "\x1b[6;20;10t",
                18: f"\x1b[8;{self.h};{self.w}t",
            }.get(p[0])
        return None
