/* SPDX-License-Identifier: Apache-2.0
 * Move of K messages from a source partition to a dead-letter partition led elsewhere.
 * Messages on the wire may be delayed, duplicated or lost; either leader may fail over at any time.
 * Mutations (must fail): -DNO_FLOOR_CHECK (forget keys but do not refuse seq < floor), -DACK_FIRST (source acks before the DLT commit),
 *                        -DSEND_UNCOMMITTED (send before MOVE_START is committed) */
#define K 3
mtype = {VISIBLE, STARTED, DONE};
mtype st[K] = VISIBLE;       /* committed source ledger state of message m */
byte seqof[K];               /* move sequence (ledger order of MOVE_START), 0 = none */
byte nextseq = 1;
byte uncommitted = 9;        /* message whose MOVE_START is appended but not committed */
bool wire[16];               /* wire[seq*4+floor]: a request (seq, floor) may be delivered now or at any later time */
byte wmsg[5];                /* body carried by seq */
bool reply[5];               /* positive replies in flight */
byte dfloor = 1; bool seen[5];  /* DLT partition state, a function of its committed log */
byte copies[K]; byte failovers = 2;
byte m, s, fl, i;
#define FLOOR(x) fl = nextseq; i = 0; do :: i < K -> if :: st[i] == STARTED && seqof[i] < fl -> fl = seqof[i] :: else fi; i++ :: else -> break od; i = 0
inline send(mm) { d_step { FLOOR(0); s = seqof[mm];
#ifdef SEND_UNCOMMITTED
  fl = ((fl > s) -> s : fl);
#endif
  wire[s*4+fl] = true; wmsg[s] = mm; s = 0; fl = 0 } }
active proctype P() {
  do
  :: atomic { uncommitted == 9 && nextseq <= 3 -> if :: st[0]==VISIBLE -> uncommitted=0 :: st[1]==VISIBLE -> uncommitted=1 :: st[2]==VISIBLE -> uncommitted=2 :: else fi;
       if :: uncommitted != 9 -> seqof[uncommitted] = nextseq :: else fi }
  :: d_step { uncommitted != 9 -> st[uncommitted] = STARTED; nextseq++; uncommitted = 9 }
#ifdef SEND_UNCOMMITTED
  :: atomic { uncommitted != 9 -> send(uncommitted) }
#endif
  :: d_step { failovers > 0 -> failovers--; if :: uncommitted != 9 -> seqof[uncommitted] = 0; uncommitted = 9 :: else fi; i=0; do :: i<5 -> reply[i] = false; i++ :: else -> break od; i=0 }
  :: atomic { st[0]==STARTED -> send(0) }
  :: atomic { st[1]==STARTED -> send(1) }
  :: atomic { st[2]==STARTED -> send(2) }
#ifdef ACK_FIRST
  :: d_step { st[0]==STARTED -> st[0]=DONE }
#endif
  :: atomic { if :: s=1 :: s=2 :: s=3 fi; if :: fl=1 :: fl=2 :: fl=3 fi;
       if :: wire[s*4+fl] ->
            if :: wire[s*4+fl] = false :: skip fi;                 /* delivered, perhaps duplicated later */
            d_step {
              if :: fl > dfloor -> i = 1; do :: i < fl -> seen[i] = false; i++ :: else -> break od; dfloor = fl; i = 0 :: else fi;   /* forget finished keys */
              if
#ifndef NO_FLOOR_CHECK
              :: s < dfloor -> reply[s] = true                     /* already finished by the source */
#endif
              :: else ->
                 if :: seen[s] -> skip :: else -> seen[s] = true; copies[wmsg[s]]++ fi;
                 reply[s] = true
              fi;
              assert(copies[0] <= 1 && copies[1] <= 1 && copies[2] <= 1);
            }
          :: else fi; s = 0; fl = 0 }
  :: d_step { st[0]==STARTED && reply[seqof[0]] -> st[0]=DONE; reply[seqof[0]]=false; assert(copies[0] == 1) }
  :: d_step { st[1]==STARTED && reply[seqof[1]] -> st[1]=DONE; reply[seqof[1]]=false; assert(copies[1] == 1) }
  :: d_step { st[2]==STARTED && reply[seqof[2]] -> st[2]=DONE; reply[seqof[2]]=false; assert(copies[2] == 1) }
  :: d_step { st[0]==DONE && copies[0] != 1 -> assert(false) }
  od
}
