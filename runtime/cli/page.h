/* page.h - a plan as one HTML page that needs nothing else: no network, no other file. */
#ifndef TORT_CLI_PAGE_H
#define TORT_CLI_PAGE_H

#include "runtime/cli/profile.h"

/* Writes the page of a session's plan. profile: where the time of a run goes; NULL: not measured. */
tort_status cli_page_write(const char *path, const cli_options *options, tort_session *session,
                           const tort_report *report, const cli_profile *profile, tort_error *error);
/* Writes a page of these lines to a new file, with data, which is freed, in the place of the line "@DATA@". */
tort_status cli_page_of(const char *path, const char *const *page, size_t count, cJSON *data, tort_error *error);

#endif
