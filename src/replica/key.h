// SPDX-License-Identifier: Apache-2.0
/* The partition's key in the catalogue, as far as its replicas care: who leads in which epoch, and
 * who is in sync. It changes only by compare-and-swap on its version, so two writers who read the
 * same version cannot both win; all safety of a cluster rests on that and on the commit rule
 * (replica.h), and on no clock, lease or watch.
 *
 * A broker is named by a number above 0. An incarnation is a random number, drawn when a replica's
 * folder is made or its data are declared lost. It stands in the key, so replacing a disk moves the
 * key's version and with that kills every compare-and-swap that was prepared before (KIP-903 cures
 * the same disease with broker epochs). Incarnation 0: this member has never registered. */
#ifndef REPLICA_KEY_H
#define REPLICA_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REPLICA_MEMBERS_MAX = 8 };

enum replica_key_state {
    REPLICA_KEY_OK,
    REPLICA_KEY_INCONSISTENT, /* the controller found proof of loss; an operator decides */
    REPLICA_KEY_LOST,         /* every in-sync replica's data are lost; an operator decides */
};

struct replica_member {
    uint32_t broker;
    bool in_isr;
    uint64_t incarnation;
};

struct replica_key {
    int64_t version; /* the catalogue's revision of its last change; rises with each change */
    uint64_t epoch;  /* 0: nobody has ever led, so nothing was ever committed */
    uint32_t leader; /* 0: nobody leads now */
    uint32_t min_isr;
    enum replica_key_state state;
    /* The last epoch that an operator began with the loss of committed records; 0: none. */
    uint64_t unclean_epoch;
    /* In this epoch an operator has asked that the first member lead; another epoch ends the wish.
     */
    uint64_t wish_epoch;
    uint64_t
        op; /* drawn by the last writer: tells it whether a write without an answer is its own */
    size_t members_n;
    struct replica_member members[REPLICA_MEMBERS_MAX];
};

/* Lent; NULL when the broker is no member. */
const struct replica_member *replica_key_find(const struct replica_key *k, uint32_t broker);
uint32_t replica_key_isr_size(const struct replica_key *k);
/* Has `broker` this place in the in-sync set from now on? It must be a member. */
void replica_key_put_in_isr(struct replica_key *k, uint32_t broker, bool in_isr);
/* The member begins anew under another incarnation. It leaves the in-sync set however small that
 * is, and leads no more: what it had is lost, and saying otherwise would let it be elected. In
 * epoch 0 it joins instead, since nothing can be missing. */
void replica_key_renew(struct replica_key *k, uint32_t broker, uint64_t incarnation);
/* Sane enough to act on: members distinct and few enough, the leader one of them. */
bool replica_key_is_valid(const struct replica_key *k);

#endif
