// SPDX-License-Identifier: Apache-2.0
#include "cli/man.h"

#include <ctype.h>
#include <string.h>

#include "cli/args.h"
#include "cli/offline_commands.h"
#include "cli/serve_options.h"
#include "config.h"

/* Text as roff shows it unchanged: a backslash is \e, a dash that can be copied is \-, and a line
 * must not begin with a dot or a quote, which are roff's own. */
static void text_put(FILE *to, const char *text)
{
    bool begin = true;
    for (; *text != '\0'; text++) {
        if (begin && (*text == '.' || *text == '\''))
            fputs("\\&", to);
        begin = *text == '\n';
        switch (*text) {
        case '\\':
            fputs("\\e", to);
            break;
        case '-':
            fputs("\\-", to);
            break;
        case '\'':
            fputs("\\(aq", to);
            break;
        case '`':
            fputs("\\(ga", to);
            break;
        default:
            putc(*text, to);
        }
    }
}

static void line_put(FILE *to, const char *text)
{
    text_put(to, text);
    putc('\n', to);
}

/* A tagged paragraph: the tag in bold, its argument in italics. */
static void tag_put(FILE *to, const char *before, const char *word, const char *argument)
{
    fputs(".TP\n\\fB", to);
    text_put(to, before);
    text_put(to, word);
    fputs("\\fR", to);
    if (argument != NULL && *argument != '\0') {
        fputs(" \\fI", to);
        text_put(to, argument);
        fputs("\\fR", to);
    }
    putc('\n', to);
}

static void options_put(FILE *to, bool every, enum cli_command command)
{
    for (size_t i = 0; i < cli_options_n; i++) {
        const struct cli_option_row *row = &cli_options[i];
        char before[16] = "--";
        if ((row->commands == CLI_EVERY) != every || !(row->commands & (1U << command)))
            continue;
        if (row->letter != 0)
            (void)snprintf(before, sizeof before, "-%c, --", row->letter);
        tag_put(to, before, row->word, row->argument);
        line_put(to, row->help);
    }
}

/* Lines as they are, each after two blanks in the tables. */
static void example_put(FILE *to, const char *examples)
{
    fputs(".nf\n", to);
    for (const char *line = examples; *line != '\0';) {
        char one[256];
        line += strspn(line, " ");
        size_t n = strcspn(line, "\n");
        (void)snprintf(one, sizeof one, "%.*s", (int)n, line);
        line_put(to, one);
        line += n + (line[n] == '\n');
    }
    fputs(".fi\n", to);
}

static void offline_put(FILE *to)
{
    fputs(".SH \"COMMANDS THAT NEED NO BROKER\"\n"
          "They read the files of a data directory.\n",
          to);
    for (int c = 0; c < CLI_OFFLINE_N; c++) {
        const struct cli_offline_command *row = &cli_offline_commands[c];
        fprintf(to, ".SS \"leaselog %s ", row->word);
        text_put(to, row->arguments);
        fputs("\"\n", to);
        putc(toupper((unsigned char)row->summary[0]), to);
        text_put(to, row->summary + 1);
        fputs(".\n", to);
        for (size_t i = 0; i < cli_offline_options_n; i++) {
            if (cli_offline_options[i].command != c)
                continue;
            tag_put(to, "--", cli_offline_options[i].word, cli_offline_options[i].argument);
            line_put(to, cli_offline_options[i].help);
        }
        fputs(".PP\n", to);
        example_put(to, row->examples);
    }
    fputs(".PP\n\\fBfsck\\fR exits with 0 when the directory is clean, 1 when there are faults, 2 "
          "after wrong usage or when the directory is none of leaselog\\(aqs, 5 when a broker "
          "serves it. A line is a \\fIfault\\fR with its file, its byte and what to do, or a "
          "\\fIremark\\fR, which does no harm.\n"
          "\\fBdump\\fR takes no lock: it may be used while a broker serves the directory. It "
          "exits with 1 when not all could be read, 3 when there is no such log.\n",
          to);
}

static void commands_put(FILE *to)
{
    fputs(".SH COMMANDS\n"
          ".SS \"leaselog serve\"\n"
          "Run the broker until it is stopped by SIGTERM or Ctrl\\-C. Its settings are below.\n",
          to);
    for (int c = 0; c < CLI_COMMANDS_N; c++) {
        const struct cli_command_row *row = &cli_commands[c];
        fprintf(to, ".SS \"leaselog %s ", row->word);
        text_put(to, row->arguments);
        fputs("\"\n", to);
        putc(toupper((unsigned char)row->summary[0]), to);
        text_put(to, row->summary + 1);
        fputs(".\n", to);
        options_put(to, false, (enum cli_command)c);
        fputs(".PP\n", to);
        example_put(to, row->examples);
    }
}

static void serve_put(FILE *to)
{
    fputs(".SH \"SETTINGS OF SERVE\"\n"
          "Each is also a variable of the environment (\\fB\\-\\-data\\-dir\\fR is "
          "\\fBLEASELOG_DATA_DIR\\fR) and a line in the file of\n"
          "\\fB\\-\\-config\\fR (\\fBdata_dir = ./data\\fR). The command line wins over the "
          "environment, and that over the file.\n",
          to);
    for (size_t i = 0; i < cli_serve_options_n; i++) {
        const struct cli_serve_option *o = &cli_serve_options[i];
        tag_put(to, "--", o->word, o->argument);
        text_put(to, o->help);
        if (*o->preset != '\0') {
            fputs(" (default: ", to);
            text_put(to, o->preset);
            putc(')', to);
        }
        putc('\n', to);
    }
}

static void work_put(FILE *to)
{
    static const char *const variables[][2] = {
        {"LEASELOG_TOPIC", "the topic's name"},
        {"LEASELOG_ID", "the message's id"},
        {"LEASELOG_RECEIPT", "the receipt of this delivery"},
        {"LEASELOG_RECEIVE_COUNT", "how often the message has been received, this time included"},
        {"LEASELOG_SENT_AT", "when it was sent (RFC 3339, UTC)"},
        {"LEASELOG_GROUP_ID", "its message group, if it has one"},
        {"LEASELOG_DEDUP_ID", "its deduplication id, if it has one"},
        {"LEASELOG_ATTR_NAME", "the value of its attribute NAME, in which all but letters, digits "
                               "and _ becomes _; binary values in base64"},
        {"LEASELOG_ATTRS_OMITTED", "how many attributes no variable could take: too long, or two "
                                   "of the same name"},
    };
    fputs(".SH \"THE COMMAND OF WORK\"\n"
          "The command finds the message\\(aqs body on stdin; stdout and stderr are those of "
          "leaselog. While it runs, the lease is extended each time that half of it has passed.\n"
          "Exit status 0 deletes the message. Any other, or a signal, gives it back, after "
          "\\fB\\-\\-retry\\-delay\\fR.\n"
          "A command that cannot be started, or that ends with 126 or 127, stops leaselog.\n"
          "When the lease is lost meanwhile the command is sent SIGTERM, and the message is not "
          "deleted.\n"
          ".PP\n"
          "The first SIGTERM, SIGINT or SIGHUP lets the running commands end, receives nothing "
          "more, and exits with 0. The second is passed on to the commands, whose messages are "
          "given back; the third kills them.\n"
          "Each command leads a process group of its own.\n"
          ".PP\n"
          "Its environment has besides:\n",
          to);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        tag_put(to, "", variables[i][0], NULL);
        line_put(to, variables[i][1]);
    }
}

void cli_man_print(FILE *to)
{
    fputs(".\\\" Made by `leaselog help --man`.\n"
          ".TH LEASELOG 1 \"\" \"leaselog " PACKAGE_VERSION "\" \"User Commands\"\n"
          ".SH NAME\n"
          "leaselog \\- a durable message queue that speaks SQS\n"
          ".SH SYNOPSIS\n"
          ".B leaselog serve\n"
          "[\\fIOPTION\\fR]...\n"
          ".br\n"
          ".B leaselog\n"
          "\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIWORD\\fR]...\n"
          ".SH DESCRIPTION\n"
          "\\fBleaselog serve\\fR runs a broker: it keeps messages in topics on disk, and leases "
          "them to whoever receives them.\n"
          "The other commands ask a running broker over HTTP, but for \\fBfsck\\fR and "
          "\\fBdump\\fR, which read its files.\n"
          "Data go to stdout, errors and hints to stderr.\n"
          "A TIME is whole seconds, or a number with s, m, h or d.\n",
          to);
    commands_put(to);
    offline_put(to);
    fputs(".SH \"OPTIONS OF EVERY COMMAND\"\n", to);
    options_put(to, true, CLI_HELP);
    work_put(to);
    serve_put(to);
    fputs(".SH \"EXIT STATUS\"\n", to);
    for (int i = 0; i < CLI_EXITS_N; i++) {
        char number[8];
        (void)snprintf(number, sizeof number, "%d", (int)cli_exits[i].status);
        tag_put(to, "", number, NULL);
        line_put(to, cli_exits[i].text);
    }
    fputs(".SH ENVIRONMENT\n", to);
    tag_put(to, "", "LEASELOG_URL", NULL);
    line_put(to, "the broker to ask, unless --server says so");
    tag_put(to, "", "LEASELOG_CONFIG", NULL);
    line_put(to, "the file of settings of serve, unless --config says so");
    fputs(".SH FILES\n", to);
    tag_put(to, "", "./data", NULL);
    line_put(to, "messages and topics, unless --data-dir says where");
    fputs(".SH EXAMPLES\n", to);
    example_put(to, "  leaselog serve --data-dir ./data\n"
                    "  leaselog topics create orders\n"
                    "  leaselog send orders 'one coffee'\n"
                    "  leaselog receive orders --wait 20s --delete\n"
                    "  leaselog work orders -j 4 -- ./brew\n");
    fputs(".SH \"SEE ALSO\"\n.BR curl (1),\n.BR systemd.service (5)\n", to);
}
