// SPDX-License-Identifier: Apache-2.0
#include "sqs/proxies.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static bool address_read(const char *text, struct sqs_network *out)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, out->address) == 1) {
        out->bits = 32;
        return true;
    }
    out->v6 = true;
    out->bits = 128;
    return inet_pton(AF_INET6, text, out->address) == 1;
}

/* "ADDRESS" or "ADDRESS/BITS" */
static bool network_read(struct bytes text, struct sqs_network *out)
{
    char copy[64];
    if (text.n == 0 || text.n >= sizeof copy || memchr(text.at, 0, text.n) != NULL)
        return false;
    memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    char *slash = strchr(copy, '/');
    if (slash != NULL)
        *slash = '\0';
    if (!address_read(copy, out))
        return false;
    if (slash == NULL)
        return true;
    char *end;
    if (slash[1] < '0' || slash[1] > '9')
        return false;
    unsigned long bits = strtoul(slash + 1, &end, 10);
    if (*end != '\0' || bits > out->bits)
        return false;
    out->bits = (unsigned)bits;
    return true;
}

bool sqs_proxies_read(const char *text, struct sqs_proxies *out, struct bytes *wrong)
{
    out->n = 0;
    for (;;) {
        text += strspn(text, " ,");
        size_t n = strcspn(text, " ,");
        if (n == 0)
            return true;
        if (out->n == SQS_PROXIES_MAX || !network_read((struct bytes){text, n}, &out->at[out->n])) {
            *wrong = (struct bytes){text, n};
            return false;
        }
        out->n++;
        text += n;
    }
}

static bool same_network(const struct sqs_network *network, const struct sqs_network *peer)
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (network->v6 != peer->v6 || memcmp(network->address, peer->address, whole) != 0)
        return false;
    unsigned mask = 0xffu << (8 - rest) & 0xff;
    return rest == 0 || ((network->address[whole] ^ peer->address[whole]) & mask) == 0;
}

bool sqs_proxies_hold(const struct sqs_proxies *p, const char *address)
{
    struct sqs_network peer;
    if (p->n == 0 || !address_read(address, &peer))
        return false;
    for (size_t i = 0; i < p->n; i++)
        if (same_network(&p->at[i], &peer))
            return true;
    return false;
}
