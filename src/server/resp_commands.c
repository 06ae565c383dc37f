/* SPDX-License-Identifier: Apache-2.0 */
#include "server/resp_commands.h"

#include <string.h>

#define WRITE METE__COMMAND_WRITE
#define READONLY METE__COMMAND_READONLY
#define FAST METE__COMMAND_FAST
#define NO_AUTH METE__COMMAND_NO_AUTH
#define ADMIN METE__COMMAND_ADMIN
#define OWN_LIMIT METE__COMMAND_OWN_LIMIT
#define BATCHED METE__COMMAND_BATCHED

/* Reply schemas: {"int":[least, most]}, {"items":[...]}, {"each":...}, {"map":{...}}, {"simple":"OK"}, "bulk",
 * "simple", "bool", "null", {"any":[...]}.  A bool is 0 or 1 in RESP2, and a map a flat array. */
#define REPLY_THROTTLE \
    "{\"items\":[{\"int\":[0,1]},{\"int\":[1,null]},{\"int\":[0,null]},{\"int\":[-1,null]},{\"int\":[0,null]}]}"
#define REPLY_DECISION                                                                                             \
    "{\"map\":{\"allowed\":\"bool\",\"limit\":{\"int\":[1,null]},\"remaining\":{\"int\":[0,null]},"                \
    "\"retry_after_ms\":{\"int\":[-1,null]},\"reset_after_ms\":{\"int\":[0,null]},\"wait_ms\":{\"int\":[0,null]}," \
    "\"name\":\"bulk\",\"would_deny\":\"bool\",\"failed\":\"bool\"}}"
#define REPLY_COUNT "{\"int\":[0,null]}"
#define REPLY_OK "{\"simple\":\"OK\"}"

/* In the order of their names: mete__command_find searches by halves. */
const struct mete__command mete__commands[] = {
    {"AUTH", -2, NO_AUTH | FAST, 0, 0, mete__run_auth, "[username] password", "Logs the connection in.", REPLY_OK},
    {"CL.THROTTLE", -5, WRITE | FAST | OWN_LIMIT | BATCHED, 1, 0, mete__run_throttle,
     "key max_burst count_per_period period [quantity]",
     "Takes from a key under a limit that the request brings, as redis-cell does.", REPLY_THROTTLE},
    {"CLIENT", -2, FAST, 0, 0, mete__run_client,
     "SETNAME name | GETNAME | SETINFO attribute value | ID | LIST | INFO | NO-EVICT on|off | NO-TOUCH on|off",
     "What clients say about themselves.", "{\"any\":[{\"simple\":\"OK\"},\"bulk\",\"null\",{\"int\":[1,null]}]}"},
    {"COMMAND", -1, READONLY, 0, 0, mete__run_command, "[COUNT | DOCS [name ...] | INFO [name ...] | LIST]",
     "The commands there are.", "{\"any\":[{\"int\":[1,null]},\"list\",\"map\"]}"},
    {"CONFIG", -2, READONLY, 0, 0, mete__run_config, "GET pattern",
     "A few settings under the names that clients ask for.", "{\"any\":[\"list\",\"map\"]}"},
    {"DEL", -2, WRITE | FAST | OWN_LIMIT, 1, 1, mete__run_del, "key [key ...]",
     "Forgets what keys of CL.THROTTLE have spent; tells how many had spent something.", REPLY_COUNT},
    {"ECHO", 2, FAST, 0, 0, mete__run_echo, "message", "Says the message again.", "\"bulk\""},
    {"EXISTS", -2, READONLY | FAST | OWN_LIMIT, 1, 1, mete__run_exists, "key [key ...]",
     "How many of the keys of CL.THROTTLE have spent something that is not refilled.", REPLY_COUNT},
    {"GCRA", -5, WRITE | FAST | OWN_LIMIT | BATCHED, 1, 0, mete__run_gcra,
     "key max-burst tokens-per-period period [TOKENS count]", "As CL.THROTTLE; the period may have decimals.",
     REPLY_THROTTLE},
    {"HELLO", -1, NO_AUTH | FAST, 0, 0, mete__run_hello, "[protover [AUTH username password] [SETNAME name]]",
     "Chooses the protocol, logs in, and introduces the server.", "\"map\""},
    {"INFO", -1, READONLY, 0, 0, mete__run_info, "[section ...]", "Facts about the server, as text.", "\"bulk\""},
    {"METE.CLOCK", -2, ADMIN | METE__COMMAND_TEST_CLOCK, 0, 0, mete__run_clock, "GET | SET ns | ADVANCE ns",
     "Moves the clock of a server that was started with --test-clock.", REPLY_COUNT},
    {"METE.PEEK", -3, READONLY | FAST, 2, 0, mete__run_peek, "policy key [COST n]",
     "What METE.TAKE would answer; takes and writes nothing.", REPLY_DECISION},
    {"METE.POLICIES", 1, READONLY, 0, 0, mete__run_policies, "", "The policies that this connection may use.",
     "{\"each\":{\"map\":{\"name\":\"bulk\",\"cost\":{\"int\":[0,null]},\"dry_run\":\"bool\",\"limits\":"
     "{\"each\":{\"items\":[\"bulk\",\"bulk\"]}}}}}"},
    {"METE.REFUND", -3, WRITE | FAST | ADMIN, 2, 0, mete__run_refund, "policy key [COST n]",
     "Gives units back, never above full.", REPLY_DECISION},
    {"METE.RESERVE", -5, WRITE | FAST, 2, 0, mete__run_reserve, "policy key WAIT ms [COST n]",
     "Takes now what may be used after wait_ms, if that is at most WAIT; for policies of one limit.", REPLY_DECISION},
    {"METE.RESET", 3, WRITE | FAST | ADMIN, 2, 0, mete__run_reset_key, "policy key", "Forgets what the key has spent.",
     REPLY_DECISION},
    {"METE.TAKE", -3, WRITE | FAST | BATCHED, 2, 0, mete__run_take, "policy key [COST n]",
     "Takes from a key under a policy.", REPLY_DECISION},
    {"METE.TOP", -1, READONLY | ADMIN, 0, 0, mete__run_top, "[ALLOWED | DENIED] [COUNT n]",
     "The keys that are allowed or denied most: policy, key, count, error.",
     "{\"each\":{\"items\":[\"bulk\",\"bulk\",{\"int\":[1,null]},{\"int\":[0,null]}]}}"},
    {"PING", -1, FAST, 0, 0, mete__run_ping, "[message]", "Is the server there?",
     "{\"any\":[{\"simple\":\"PONG\"},\"bulk\"]}"},
    {"QUIT", -1, NO_AUTH | FAST, 0, 0, mete__run_quit, "", "Closes the connection after the replies.", REPLY_OK},
    {"RESET", 1, NO_AUTH | FAST, 0, 0, mete__run_reset, "", "Logs out, and back to RESP2.", "{\"simple\":\"RESET\"}"},
    {"RL.THROTTLE", -5, WRITE | FAST | OWN_LIMIT | BATCHED, 1, 0, mete__run_throttle,
     "key max_burst count_per_period period [quantity]", "Another name of CL.THROTTLE.", REPLY_THROTTLE},
    {"SELECT", 2, FAST, 0, 0, mete__run_select, "0", "There is one database, 0.", REPLY_OK},
    {"TIME", 1, FAST, 0, 0, mete__run_time, "", "The server's wall clock: seconds and microseconds.",
     "{\"items\":[\"bulk\",\"bulk\"]}"},
};

const size_t mete__command_count = sizeof mete__commands / sizeof *mete__commands;

/* < 0, 0 or > 0, as the name stands before, at or behind the command's. */
static int compare(struct mete__span name, const char *command)
{
    size_t i = 0;
    for (; i < name.len && command[i] != '\0'; i++) {
        char c = name.at[i];
        c = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
        if (c != command[i]) {
            return (unsigned char)c < (unsigned char)command[i] ? -1 : 1;
        }
    }
    return i < name.len ? 1 : command[i] != '\0' ? -1 : 0;
}

const struct mete__command *mete__command_find(struct mete__span name)
{
    size_t low = 0, high = mete__command_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare(name, mete__commands[middle].name);
        if (order == 0) {
            return &mete__commands[middle];
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}
