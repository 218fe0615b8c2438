// SPDX-License-Identifier: Apache-2.0
/* The real disk, in a temporary folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk/disk.h"
#include "lib/runner.h"

static char dir[64];
static struct disk d;

static void setup(void)
{
    memset(dir, 0, sizeof dir);
    memcpy(dir, "/tmp/leaselog-disk-", 19);
    memset(dir + 19, 'X', 6); /* for mkdtemp to fill in */
    ck_assert_ptr_nonnull(mkdtemp(dir));
    char deep[128];
    snprintf(deep, sizeof deep, "%s/a/b", dir);
    ck_assert_int_eq(disk_posix_open(deep, false, &d), ERR_NOT_FOUND);
    ck_assert_int_eq(disk_posix_open(deep, true, &d), ERR_OK);
}

static void remove_it(void *arg, const char *name)
{
    (void)arg;
    ck_assert_int_eq(d.remove(d.self, name), ERR_OK);
}

static void teardown(void)
{
    ck_assert_int_eq(d.list(d.self, ".", remove_it, NULL), ERR_OK);
    disk_posix_close(&d);
    char path[128];
    static const char *const below[] = {"/a/b", "/a", ""};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", dir, below[i]);
        ck_assert_int_eq(rmdir(path), 0);
    }
}

START_TEST(pieces_are_written_one_behind_the_other_and_read_back)
{
    struct bytes pieces[2000];
    char back[6001];
    int file;
    size_t got;
    uint64_t size;
    for (unsigned i = 0; i < 2000; i++)
        pieces[i] = BYTES_OF("abc");
    pieces[7] = BYTES_NONE;
    ck_assert_int_eq(d.open(d.self, "f", DISK_READ, &file), ERR_NOT_FOUND);
    ck_assert_int_eq(d.open(d.self, "f", DISK_CREATE, &file), ERR_OK);
    ck_assert_int_eq(d.write(d.self, file, pieces, 2000, 4), ERR_OK);
    ck_assert_int_eq(d.sync(d.self, file), ERR_OK);
    ck_assert_int_eq(d.size(d.self, file, &size), ERR_OK);
    ck_assert_uint_eq(size, 4 + 3 * 1999);
    ck_assert_int_eq(d.read(d.self, file, back, 6000, 4, &got), ERR_OK);
    ck_assert_uint_eq(got, 3 * 1999);
    for (size_t i = 0; i < got; i++)
        ck_assert_int_eq(back[i], "abc"[i % 3]);
    ck_assert_int_eq(d.truncate(d.self, file, 5), ERR_OK);
    ck_assert_int_eq(d.read(d.self, file, back, 10, 0, &got), ERR_OK);
    ck_assert_uint_eq(got, 5);
    ck_assert(memcmp(back, "\0\0\0\0a", 5) == 0);
    d.close(d.self, file);
    ck_assert_int_eq(d.open(d.self, "f", DISK_CREATE_NEW, &file), ERR_EXISTS);
}
END_TEST

START_TEST(a_second_lock_is_refused_until_the_first_is_closed)
{
    int one, other;
    ck_assert_int_eq(d.open(d.self, "lock", DISK_CREATE, &one), ERR_OK);
    ck_assert_int_eq(d.open(d.self, "lock", DISK_CREATE, &other), ERR_OK);
    ck_assert_int_eq(d.lock(d.self, one), ERR_OK);
    ck_assert_int_eq(d.lock(d.self, other), ERR_IN_USE);
    d.close(d.self, one);
    ck_assert_int_eq(d.lock(d.self, other), ERR_OK);
    d.close(d.self, other);
}
END_TEST

static void join(void *arg, const char *name)
{
    strncat(arg, name, 8);
}

START_TEST(folders_are_listed_in_order_and_removed_only_when_empty)
{
    char names[64] = "";
    int file;
    ck_assert_int_eq(d.make_dir(d.self, "c"), ERR_OK);
    ck_assert_int_eq(d.make_dir(d.self, "c"), ERR_EXISTS);
    ck_assert_int_eq(d.open(d.self, "c/y", DISK_CREATE_NEW, &file), ERR_OK);
    d.close(d.self, file);
    ck_assert_int_eq(d.rename(d.self, "c/y", "b"), ERR_OK);
    ck_assert_int_eq(d.open(d.self, "c/z", DISK_CREATE_NEW, &file), ERR_OK);
    d.close(d.self, file);
    ck_assert_int_eq(d.remove(d.self, "c"), ERR_EXISTS);
    ck_assert_int_eq(d.list(d.self, ".", join, names), ERR_OK);
    ck_assert_str_eq(names, "bc");
    ck_assert_int_eq(d.remove(d.self, "c/z"), ERR_OK);
    ck_assert_int_eq(d.remove(d.self, "c/z"), ERR_NOT_FOUND);
    ck_assert_int_eq(d.sync_dir(d.self, "c"), ERR_OK);
    ck_assert_int_eq(d.sync_dir(d.self, "."), ERR_OK);
    ck_assert_int_eq(d.sync_all(d.self), ERR_OK);
    ck_assert_int_eq(d.sync_dir(d.self, "none"), ERR_NOT_FOUND);
    uint64_t free_bytes = 0;
    ck_assert_int_eq(d.free_bytes(d.self, &free_bytes), ERR_OK);
    ck_assert_uint_gt(free_bytes, 0);
    uint64_t total_bytes = 0;
    ck_assert_int_eq(d.total_bytes(d.self, &total_bytes), ERR_OK);
    ck_assert_uint_ge(total_bytes, free_bytes);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("disk");
    TCase *t = tcase_create("posix");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, pieces_are_written_one_behind_the_other_and_read_back);
    tcase_add_test(t, a_second_lock_is_refused_until_the_first_is_closed);
    tcase_add_test(t, folders_are_listed_in_order_and_removed_only_when_empty);
    suite_add_tcase(s, t);
    return s;
}
