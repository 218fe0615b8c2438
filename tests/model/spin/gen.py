#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Expands leaselog.tmpl into the model that spin reads: gen.py TEMPLATE > MODEL.

An option of the template, ":: atomic { pick(r); GUARD -> d_step { ACTION } }", becomes one
":: d_step { GUARD -> ACTION }" for each replica (two different ones where f and r are picked). A
choice inside an atomic would give the search an intermediate state for every pick; this has none.
"""
import itertools
import re
import sys

REPLICAS = range(3)


def block_at(text, begin):
    """The text between the braces that open at or behind `begin`, and where they end."""
    opening = text.index('{', begin)
    depth = 0
    for at in range(opening, len(text)):
        depth += {'{': 1, '}': -1}.get(text[at], 0)
        if depth == 0:
            return text[opening + 1:at], at + 1
    raise ValueError('braces do not match')


def expand(option):
    picked = re.findall(r'pick\((\w)\);', option)
    option = re.sub(r'pick\(\w\);', '', option)
    step = option.index('d_step {')
    guard = option[:step].rstrip()
    assert guard.endswith('->'), guard
    action = option[step + len('d_step {'):option.rindex('}')]
    # The picked indices are constants now, so nothing has to be reset.
    text = re.sub(r'\b([rf])\s*=\s*0\s*(;|(?=\s*}))', '',
                  ':: d_step { ' + guard + '\n       ' + action + ' }')
    for values in itertools.product(REPLICAS, repeat=len(picked)):
        if len(set(values)) < len(values):
            continue
        one = text
        for name, value in zip(picked, values):
            one = re.sub(r'(?<![\w.])%s(?![\w])' % name, str(value), one)
        yield one + '\n  '


def main():
    with open(sys.argv[1]) as template:
        text = template.read()
    kept = text.index('#ifndef LEN')  # comments behind it would stand in the way of the braces
    text = text[:kept] + re.sub(r'/\*.*?\*/', '', text[kept:], flags=re.S)
    at = text.index('active proctype')
    out = [text[:at]]
    while (option := text.find(':: atomic {', at)) >= 0:
        out.append(text[at:option])
        inside, at = block_at(text, option)
        out.extend(expand(inside))
    out.append(text[at:])
    sys.stdout.write(''.join(out))


main()
