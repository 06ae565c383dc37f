/* SPDX-License-Identifier: Apache-2.0 */
/* Field names that mean a client or a time in logs with named fields. */
#ifndef METE_CLI_LOG_NAMES_H
#define METE_CLI_LOG_NAMES_H

/* In order of preference, NULL at the end; compared without regard to case.
 * "host" comes late: it may be the server's. */
static const char *const mete__key_names[] = {
    "client_ip",   "clientip",       "remote_addr", "remote_ip",   "remote_address", "remoteip",
    "client_addr", "client_address", "source_ip",   "src_ip",      "ip_address",     "ip",
    "c-ip",        "addr",           "address",     "remote_host", "client",         "client_id",
    "remote",      "host",           "key",         NULL,
};

static const char *const mete__time_names[] = {
    "time", "timestamp", "@timestamp", "ts",         "time_iso8601", "time_local", "datetime", "date_time",
    "msec", "epoch",     "unixtime",   "start_time", "starttime",    "time_ns",    "date",     NULL,
};

#endif
