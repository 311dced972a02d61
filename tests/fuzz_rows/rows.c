/* rows.c - holds the fast rows of the provider `cpu` against the plain loops: `rows CASES SEED [CASE [FILE]]`.
 *
 * A case is a random model of one node, from the case table of the unit tests, or of a chain of nodes. It is the same
 * for the same seed, so that what fails can be run alone; then the model of a chain is written into FILE. Cases run in
 * children: one that ends its child is a failure, and the next child goes on behind it. Of many cases a row that none
 * reached is a failure too, unless this processor lacks what it needs. Read next: engines.c, nodes.c, chains.c. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/counting_env.h"
#include "tests/fuzz_rows/makers.h"

enum { SECONDS = 300, CASES_OF_A_CHILD = 2000 };

/* What the children leave: they share it with their parent. */
typedef struct shared {
    int64_t at;             /* the case that runs */
    const char *model_file; /* for the model of a chain, or NULL */
    int64_t failed, chains, invalid;
    row_count rows[MAX_ROWS];
} shared;

/* ---- a case ------------------------------------------------------------------------------------------------------ */

static int64_t case_total(void) {
    int64_t count = 0;
    while (kernel_case_at((size_t)count)) count++;
    return count;
}

static void fail(shared *all, int64_t seed, const char *text, const char *why) {
    all->failed++;
    printf("FAIL case %lld, %s: %s\n    make fuzz-rows SEED=%lld CASE=%lld\n", (long long)all->at, text, why,
           (long long)seed, (long long)all->at);
    fflush(stdout);
}

static void write_model(const char *path, const onnx_bytes *bytes) {
    FILE *file = path && bytes->size ? fopen(path, "wb") : NULL;
    if (!file) return;
    if (fwrite(bytes->data, 1, bytes->size, file) == bytes->size) printf("the model is in %s\n", path);
    fclose(file);
}

/* Every second is a chain; the others go through the table. */
static void run_case(shared *all, int64_t seed) {
    tort_counting_env counting;
    random_model made = {.text = ""};
    char why[WHY] = "";
    random_source random = {(uint64_t)seed * 1000003u + (uint64_t)all->at * 7919u};
    const bool chain = all->at % 2 == 1;
    tort_counting_env_init(&counting);
    for (int32_t i = 0; i < 4; i++) draw(&random, 0, 1); /* neighbours begin alike */
    if (chain)
        make_chain(&made, &random, &counting.env);
    else
        make_node(&made, kernel_case_at((size_t)(all->at / 2 % case_total())), &random, &counting.env);
    all->chains += chain;
    all->invalid += !chain && !made.model;
    if (chain && !made.model)
        fail(all, seed, made.text, "is not valid");
    else if (made.model && !agrees(&counting.env, &made.subject, all->rows, why))
        fail(all, seed, made.text, why);
    write_model(all->model_file, &made.bytes);
    free_made(&made);
    if (counting.live_blocks || counting.wrong_sizes) fail(all, seed, "at its end", "memory is not freed");
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

static void run_cases(shared *all, int64_t end, int64_t seed) {
    for (; all->at < end; all->at++) {
        alarm(SECONDS);
        run_case(all, seed);
    }
    exit(0); /* what sanitizers find at the end, they tell by another status */
}

static void run_children(shared *all, int64_t end, int64_t seed) {
    while (all->at < end) {
        int status = 0;
        const int64_t first = all->at, last = end - first < CASES_OF_A_CHILD ? end : first + CASES_OF_A_CHILD;
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) run_cases(all, last, seed);
        if (child < 0 || waitpid(child, &status, 0) != child) exit(2);
        if (isatty(2)) fprintf(stderr, "\r%lld ", (long long)all->at);
        if (status == 0) continue;
        fail(all, seed, "which its process did not survive",
             WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "the sanitizers tell why");
        all->at++;
    }
}

/* ---- what was reached -------------------------------------------------------------------------------------------- */

static void tell_rows(const shared *all) {
    for (int32_t i = 0; i < row_total(); i++) {
        const tort_kernel *row = row_at(i);
        const row_count *count = &all->rows[i];
        printf("%-14s %-32s %-32s", *row->domain ? row->domain : "ai.onnx", row->op, row->name);
        for (int32_t set = 0; instruction_sets[set]; set++)
            printf(" %s %lld", instruction_sets[set], (long long)count->served_by[set]);
        printf(" widened %lld%s\n", (long long)count->widened,
               count->incapable && !count->served ? " (not on this processor)" : "");
    }
}

#define MANY 20000 /* cases that should reach every row; some need a chain of three kinds of nodes */

static int64_t never_reached(const shared *all) {
    int64_t missing = 0;
    for (int32_t i = 0; i < row_total(); i++) {
        const tort_kernel *row = row_at(i);
        if (all->rows[i].served || all->rows[i].incapable) continue;
        missing++;
        printf("FAIL no case reached the row %s of %s%s%s\n", row->name, row->domain, *row->domain ? "." : "", row->op);
    }
    return missing;
}

int main(int count, char **arguments) {
    shared *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count < 3 || all == MAP_FAILED) {
        fprintf(stderr, "usage: rows CASES SEED [CASE [FILE]]\n");
        return 2;
    }
    if (row_total() > MAX_ROWS) {
        fprintf(stderr, "there are %d fast rows: raise MAX_ROWS\n", row_total());
        return 2;
    }
    const int64_t seed = strtoll(arguments[2], NULL, 10);
    const bool alone = count > 3;
    all->model_file = count > 4 ? arguments[4] : NULL;
    all->at = alone ? strtoll(arguments[3], NULL, 10) : 0;
    const int64_t first = all->at, end = alone ? first + 1 : strtoll(arguments[1], NULL, 10);
    run_children(all, end, seed);
    if (end - first >= MANY) tell_rows(all);
    if (end - first >= MANY) all->failed += never_reached(all);
    printf("fuzz-rows: seed %lld, %lld cases, %lld of them chains, %lld not valid, %d rows\n", (long long)seed,
           (long long)(end - first), (long long)all->chains, (long long)all->invalid, row_total());
    printf("fast-rows: %lld passed, %lld failed\n", (long long)(end - first), (long long)all->failed);
    return all->failed != 0;
}
