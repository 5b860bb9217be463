/* SPDX-License-Identifier: Apache-2.0 */
#if defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0A00
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#if !defined(ERROR_DISK_QUOTA_EXCEEDED)
#define ERROR_DISK_QUOTA_EXCEEDED 1295
#endif

/* ---- Errors and names ------------------------------------------------------------------------ */

static const struct {
    DWORD error;
    int is;
} errors[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_INVALID_DRIVE, ENOENT},
    {ERROR_BAD_NETPATH, ENOENT},
    {ERROR_BAD_NET_NAME, ENOENT},
    {ERROR_INVALID_NAME, ENOENT},
    {ERROR_BAD_PATHNAME, ENOENT},
    {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_DIRECTORY, ENOTDIR},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_SHARING_VIOLATION, EACCES},
    {ERROR_USER_MAPPED_FILE, EACCES},
    {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
    {ERROR_IO_PENDING, EWOULDBLOCK},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {ERROR_DISK_QUOTA_EXCEEDED, ENOSPC},
    {ERROR_FILE_TOO_LARGE, EFBIG},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_COMMITMENT_LIMIT, ENOMEM},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_INVALID_HANDLE, EBADF},
    {ERROR_BROKEN_PIPE, EPIPE},
    {ERROR_NO_DATA, EPIPE},
    {ERROR_NOT_SAME_DEVICE, EXDEV},
    {ERROR_TOO_MANY_LINKS, EMLINK},
    {ERROR_NOT_SUPPORTED, ENOTSUP},
    {ERROR_INVALID_FUNCTION, ENOTSUP},
    {ERROR_INVALID_PARAMETER, EINVAL},
    {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
};

static int errno_of(DWORD error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) return errors[i].is;
    return EIO;
}

static int failed(void) {
    errno = errno_of(GetLastError());
    return -1;
}

static int refuse(int error) {
    errno = error;
    return -1;
}

/* Longer paths need a prefix, which requires an absolute path with backslashes. */
#define PLAIN_PATH_MAX 240
#define WIDE_MAX (FR_PATH_MAX + 8)
#define NAME_MAX_WIDE 255

/* Windows reports such a name as invalid. */
static bool has_long_name(const wchar_t *path) {
    for (size_t size = 0; *path; path++) {
        size = *path == L'/' || *path == L'\\' ? 0 : size + 1;
        if (size > NAME_MAX_WIDE) return true;
    }
    return false;
}

static int lengthen(wchar_t *wide) {
    static const wchar_t prefix[] = L"\\\\?\\", network[] = L"\\\\?\\UNC\\";
    wchar_t full[WIDE_MAX];
    if (has_long_name(wide)) return refuse(ENAMETOOLONG);
    const DWORD length = GetFullPathNameW(wide, WIDE_MAX, full, NULL);
    if (length == 0) return failed();
    if (length >= FR_PATH_MAX) return refuse(ENAMETOOLONG);
    if (wcsncmp(full, L"\\\\?\\", 4) == 0 || wcsncmp(full, L"\\\\.\\", 4) == 0) {
        wcscpy(wide, full);
        return 0;
    }
    const bool remote = full[0] == L'\\' && full[1] == L'\\';
    wcscpy(wide, remote ? network : prefix);
    wcscat(wide, remote ? full + 2 : full);
    return 0;
}

/* Windows ignores a slash at the end of a file name; POSIX takes it for a directory name. */
static int widen(const char *path, wchar_t *wide) {
    const size_t size = strlen(path);
    if (size == 0) return refuse(ENOENT);
    if (size >= FR_PATH_MAX) return refuse(ENAMETOOLONG);
    if (!MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, FR_PATH_MAX))
        return refuse(EILSEQ);
    return wcslen(wide) < PLAIN_PATH_MAX ? 0 : lengthen(wide);
}

/* Converts to UTF-8, without the prefix. */
static int narrow(const wchar_t *wide, char *path) {
    char text[FR_PATH_MAX + 8];
    if (!WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, sizeof text, NULL, NULL))
        return refuse(ENAMETOOLONG);
    const bool remote = strncmp(text, "\\\\?\\UNC\\", 8) == 0;
    const char *bare = remote ? text + 6 : strncmp(text, "\\\\?\\", 4) == 0 ? text + 4 : text;
    if (strlen(bare) >= FR_PATH_MAX) return refuse(ENAMETOOLONG);
    strcpy(path, bare);
    if (remote) path[0] = '\\';
    return 0;
}

static bool is_separator(char c) {
    return c == '/' || c == '\\';
}

size_t fr_file_folder_size(const char *path) {
    size_t size = strlen(path);
    while (size && !is_separator(path[size - 1]) && !(size == 2 && path[1] == ':'))
        size--;
    return size;
}

bool fr_file_is_absolute(const char *path) {
    return is_separator(path[0]) || (path[0] && path[1] == ':');
}

/* ---- Files ----------------------------------------------------------------------------------- */

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static HANDLE open_handle(const char *path, DWORD access, DWORD disposition, DWORD flags) {
    wchar_t wide[WIDE_MAX];
    if (widen(path, wide) != 0) return INVALID_HANDLE_VALUE;
    HANDLE handle = CreateFileW(wide, access, SHARE_ALL, NULL, disposition, flags, NULL);
    if (handle != INVALID_HANDLE_VALUE) return handle;
    failed();
    if (errno == EACCES) {
        const DWORD attributes = GetFileAttributesW(wide);
        if (attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY)
            errno = EISDIR;
    }
    return INVALID_HANDLE_VALUE;
}

/* The name may be below a file, which is not a directory. */
static int explain(const char *path) {
    char folder[FR_PATH_MAX];
    fr_file_info info;
    size_t size = fr_file_folder_size(path);
    while (size > 1 && is_separator(path[size - 1]))
        size--;
    if (errno != ENOENT || size == 0 || size >= sizeof folder) return -1;
    memcpy(folder, path, size);
    folder[size] = 0;
    return refuse(fr_file_stat(folder, &info) == 0 && info.kind != FR_FILE_FOLDER ? ENOTDIR
                                                                                  : ENOENT);
}

static int open_descriptor(const char *path, DWORD access, DWORD disposition, int flags) {
    HANDLE handle = open_handle(path, access, disposition, FILE_ATTRIBUTE_NORMAL);
    if (handle == INVALID_HANDLE_VALUE) return explain(path);
    int fd = _open_osfhandle((intptr_t)handle, flags | _O_BINARY | _O_NOINHERIT);
    if (fd >= 0) return fd;
    CloseHandle(handle);
    return refuse(EMFILE);
}

int fr_file_open(const char *path, bool at_once) {
    (void)at_once;
    return open_descriptor(path, GENERIC_READ, OPEN_EXISTING, _O_RDONLY);
}

int fr_file_create(const char *path, unsigned mode) {
    (void)mode;
    return open_descriptor(path, GENERIC_WRITE, CREATE_NEW, _O_WRONLY);
}

int fr_file_append(const char *path, bool create) {
    /* A handle with append access and without write access appends at any position. */
    return open_descriptor(path, GENERIC_READ | FILE_APPEND_DATA,
                           create ? CREATE_NEW : OPEN_EXISTING, _O_WRONLY | _O_APPEND);
}

static HANDLE handle_of(int fd) {
    return (HANDLE)_get_osfhandle(fd);
}

/* Converts units of 100 ns since 1601 to ns since 1970. */
static int64_t time_of(const FILETIME *time) {
    const uint64_t ticks = (uint64_t)time->dwHighDateTime << 32 | time->dwLowDateTime;
    return ((int64_t)ticks - INT64_C(116444736000000000)) * 100;
}

static int inform(HANDLE handle, fr_file_info *info) {
    BY_HANDLE_FILE_INFORMATION found;
    *info = (fr_file_info){.kind = FR_FILE_OTHER};
    if (handle == INVALID_HANDLE_VALUE) return refuse(EBADF);
    if (GetFileType(handle) != FILE_TYPE_DISK) return 0;
    if (!GetFileInformationByHandle(handle, &found)) return failed();
    const bool folder = found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    *info = (fr_file_info){
        .kind = folder ? FR_FILE_FOLDER : FR_FILE_REGULAR,
        .size = (uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow,
        .mtime_ns = time_of(&found.ftLastWriteTime),
        .device = found.dwVolumeSerialNumber,
        .inode = (uint64_t)found.nFileIndexHigh << 32 | found.nFileIndexLow,
    };
    return 0;
}

int fr_file_stat(const char *path, fr_file_info *info) {
    HANDLE handle =
        open_handle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (handle == INVALID_HANDLE_VALUE) return explain(path);
    int status = inform(handle, info);
    CloseHandle(handle);
    return status;
}

int fr_fd_stat(int fd, fr_file_info *info) {
    return inform(handle_of(fd), info);
}

int fr_file_remove(const char *path) {
    wchar_t wide[WIDE_MAX];
    if (widen(path, wide) != 0) return -1;
    return DeleteFileW(wide) ? 0 : failed();
}

int fr_file_link(const char *path, const char *name) {
    wchar_t from[WIDE_MAX], to[WIDE_MAX];
    if (widen(path, from) != 0 || widen(name, to) != 0) return -1;
    return CreateHardLinkW(to, from, NULL) ? 0 : failed();
}

/* FILE_RENAME_INFO with the flags that older headers lack. */
typedef struct {
    DWORD flags;
    HANDLE root;
    DWORD size; /* bytes of the name */
    wchar_t name[WIDE_MAX];
} rename_request;

#define RENAME_INFO_EX ((FILE_INFO_BY_HANDLE_CLASS)22)
#define RENAME_REPLACE 1u
#define RENAME_LIKE_POSIX 2u

/* Renames as rename(2) does, even if the replaced file is open. NTFS supports this since 2017. */
static bool rename_like_posix(const wchar_t *from, const wchar_t *to) {
    rename_request request = {.flags = RENAME_REPLACE | RENAME_LIKE_POSIX};
    const DWORD length = GetFullPathNameW(to, WIDE_MAX, request.name, NULL);
    if (length == 0 || length >= WIDE_MAX) return false;
    request.size = length * (DWORD)sizeof(wchar_t);
    HANDLE handle = CreateFileW(from, DELETE | SYNCHRONIZE, SHARE_ALL, NULL, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (handle == INVALID_HANDLE_VALUE) return false;
    bool renamed = SetFileInformationByHandle(handle, RENAME_INFO_EX, &request, sizeof request);
    CloseHandle(handle);
    return renamed;
}

int fr_file_rename(const char *from, const char *to, bool replace) {
    wchar_t wide_from[WIDE_MAX], wide_to[WIDE_MAX];
    if (widen(from, wide_from) != 0 || widen(to, wide_to) != 0) return -1;
    if (replace && rename_like_posix(wide_from, wide_to)) return 0;
    return MoveFileExW(wide_from, wide_to, replace ? MOVEFILE_REPLACE_EXISTING : 0) ? 0 : failed();
}

/* The journal of the file system preserves the names in directories. */
int fr_file_sync_folder(const char *path) {
    (void)path;
    return 0;
}

static int final_path(const char *path, char *out) {
    wchar_t wide[WIDE_MAX];
    HANDLE handle =
        open_handle(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (handle == INVALID_HANDLE_VALUE) return explain(path);
    DWORD length = GetFinalPathNameByHandleW(handle, wide, WIDE_MAX, VOLUME_NAME_DOS);
    CloseHandle(handle);
    if (length == 0) { /* the volume has no drive letter */
        if (widen(path, wide) != 0) return -1;
        wchar_t plain[WIDE_MAX];
        wcscpy(plain, wide);
        length = GetFullPathNameW(plain, WIDE_MAX, wide, NULL);
        if (length == 0) return failed();
    }
    return length < WIDE_MAX ? narrow(wide, out) : refuse(ENAMETOOLONG);
}

/* Returns the final target. */
int fr_file_read_link(const char *path, char *target) {
    wchar_t wide[WIDE_MAX];
    if (widen(path, wide) != 0) return -1;
    const DWORD attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) return failed();
    if (!(attributes & FILE_ATTRIBUTE_REPARSE_POINT)) return refuse(EINVAL);
    if (final_path(path, target) != 0) return -1;
    return strcmp(path, target) == 0 ? refuse(EINVAL) : 0;
}

int fr_file_real_path(const char *path, char *root) {
    fr_file_info info;
    if (fr_file_stat(path, &info) != 0) return -1;
    return info.kind == FR_FILE_FOLDER ? final_path(path, root) : refuse(ENOTDIR);
}

/* ---- Descriptors. The handle is used, because it does not translate line endings. ------------ */

#define TRANSFER_MAX ((size_t)1 << 30)

static int64_t read_handle(int fd, void *data, size_t size, OVERLAPPED *at) {
    DWORD got = 0;
    const DWORD most = (DWORD)(size < TRANSFER_MAX ? size : TRANSFER_MAX);
    if (ReadFile(handle_of(fd), data, most, &got, at)) return got;
    const DWORD error = GetLastError();
    if (error == ERROR_HANDLE_EOF || error == ERROR_BROKEN_PIPE) return 0;
    return failed();
}

int64_t fr_fd_read(int fd, void *data, size_t size) {
    return read_handle(fd, data, size, NULL);
}

static OVERLAPPED position(uint64_t offset) {
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
}

void fr_fd_scatter(int fd) {
    (void)fd;
}

size_t fr_fd_limit(void) {
    return 512; /* limit of the C library */
}

/* Also moves the descriptor's position, which its callers ignore. */
int64_t fr_fd_read_at(int fd, void *data, size_t size, uint64_t offset) {
    OVERLAPPED at = position(offset);
    return read_handle(fd, data, size, &at);
}

int64_t fr_fd_write(int fd, const void *data, size_t size) {
    DWORD wrote = 0;
    const DWORD most = (DWORD)(size < TRANSFER_MAX ? size : TRANSFER_MAX);
    return WriteFile(handle_of(fd), data, most, &wrote, NULL) ? (int64_t)wrote : failed();
}

static int64_t move(int fd, int64_t distance, DWORD from) {
    LARGE_INTEGER to = {.QuadPart = distance}, now;
    HANDLE handle = handle_of(fd);
    if (GetFileType(handle) != FILE_TYPE_DISK) return refuse(ESPIPE);
    return SetFilePointerEx(handle, to, &now, from) ? now.QuadPart : failed();
}

int fr_fd_seek(int fd, uint64_t offset) {
    return move(fd, (int64_t)offset, FILE_BEGIN) < 0 ? -1 : 0;
}

int64_t fr_fd_tell(int fd) {
    return move(fd, 0, FILE_CURRENT);
}

/* Uses a handle with write access, which an appending handle lacks. */
int fr_fd_truncate(int fd, uint64_t size) {
    FILE_END_OF_FILE_INFO end = {.EndOfFile = {.QuadPart = (int64_t)size}};
    HANDLE handle = ReOpenFile(handle_of(fd), GENERIC_WRITE, SHARE_ALL, 0);
    if (handle == INVALID_HANDLE_VALUE) return failed();
    const bool done = SetFileInformationByHandle(handle, FileEndOfFileInfo, &end, sizeof end);
    const int status = done ? 0 : failed();
    CloseHandle(handle);
    return status;
}

int fr_fd_set_mode(int fd, unsigned mode) {
    (void)fd, (void)mode;
    return 0;
}

int fr_fd_sync(int fd) {
    return FlushFileBuffers(handle_of(fd)) ? 0 : failed();
}

int fr_fd_duplicate(int fd) {
    HANDLE self = GetCurrentProcess(), twin;
    if (!DuplicateHandle(self, handle_of(fd), self, &twin, 0, FALSE, DUPLICATE_SAME_ACCESS))
        return failed();
    int made = _open_osfhandle((intptr_t)twin, _O_RDWR | _O_BINARY | _O_NOINHERIT);
    if (made < 0) CloseHandle(twin);
    return made;
}

int fr_fd_close(int fd) {
    return _close(fd);
}

/* Windows denies others access to locked bytes, so a byte beyond the end of any file is locked. */
#define LOCKED_BYTE UINT64_C(0x7ffffffffffffffe)

int fr_fd_lock(int fd) {
    OVERLAPPED at = position(LOCKED_BYTE);
    const DWORD flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    return LockFileEx(handle_of(fd), flags, 0, 1, 0, &at) ? 0 : failed();
}

void fr_fd_unlock(int fd) {
    OVERLAPPED at = position(LOCKED_BYTE);
    UnlockFileEx(handle_of(fd), 0, 1, 0, &at);
}

bool fr_fd_allocates_late(int fd) {
    (void)fd;
    return false;
}

int fr_fd_reserve(int fd, uint64_t offset, uint64_t size) {
    (void)fd, (void)offset, (void)size;
    return refuse(ENOTSUP);
}

/* ---- Maps of files --------------------------------------------------------------------------- */

void *fr_map_new(int fd, size_t size) {
    HANDLE section = CreateFileMappingW(handle_of(fd), NULL, PAGE_READONLY, 0, 0, NULL);
    if (!section) {
        failed();
        return NULL;
    }
    void *base = MapViewOfFile(section, FILE_MAP_READ, 0, 0, size);
    if (!base) failed();
    CloseHandle(section); /* the view keeps the section open */
    return base;
}

void fr_map_free(void *base, size_t size) {
    (void)size;
    if (!UnmapViewOfFile(base))
        VirtualFree(base, 0, MEM_RELEASE); /* the map was lost and replaced by zeros */
}

static fr_map_lost is_lost;
static SRWLOCK rescuing = SRWLOCK_INIT;

/*
 * Windows does not let a program truncate a mapped file, but servers and removed drives can lose
 * it. A view's page cannot be replaced, so memory of the same size replaces the view, and each page
 * becomes zeros when it is read. Another thread that reads during the exchange also comes here and
 * then finds this memory.
 */
static bool put_zeros(uintptr_t address, void *base, size_t size) {
    MEMORY_BASIC_INFORMATION there;
    void *page = (void *)(address & ~(uintptr_t)(fr_page_size() - 1));
    AcquireSRWLockExclusive(&rescuing);
    bool done = VirtualQuery(page, &there, sizeof there) != 0;
    if (done && there.Type == MEM_MAPPED)
        done =
            UnmapViewOfFile(base) && VirtualAlloc(base, size, MEM_RESERVE, PAGE_READONLY) == base;
    done = done && VirtualAlloc(page, 1, MEM_COMMIT, PAGE_READONLY) == page;
    ReleaseSRWLockExclusive(&rescuing);
    return done;
}

static LONG CALLBACK on_exception(EXCEPTION_POINTERS *exception) {
    const EXCEPTION_RECORD *record = exception->ExceptionRecord;
    const bool fault = record->ExceptionCode == (DWORD)EXCEPTION_IN_PAGE_ERROR ||
                       record->ExceptionCode == (DWORD)EXCEPTION_ACCESS_VIOLATION;
    void *base;
    size_t size;
    if (!fault || record->NumberParameters < 2 || record->ExceptionInformation[0] != 0)
        return EXCEPTION_CONTINUE_SEARCH; /* not a read access */
    const uintptr_t address = (uintptr_t)record->ExceptionInformation[1];
    if (!is_lost(address, &base, &size)) return EXCEPTION_CONTINUE_SEARCH;
    return put_zeros(address, base, size) ? EXCEPTION_CONTINUE_EXECUTION
                                          : EXCEPTION_CONTINUE_SEARCH;
}

/* REQUIRES: the caller holds the lock. */
int fr_map_watch(fr_map_lost lost) {
    if (is_lost) return 0;
    is_lost = lost;
    if (AddVectoredExceptionHandler(1, on_exception)) return 0;
    is_lost = NULL;
    return refuse(ENOMEM);
}

void fr_map_scatter(const void *data, size_t size) {
    (void)data, (void)size;
}

void fr_map_announce(const void *data, size_t size) {
    WIN32_MEMORY_RANGE_ENTRY range = {(void *)(uintptr_t)data, size};
    (void)PrefetchVirtualMemory(GetCurrentProcess(), 1, &range, 0);
}

void fr_map_retire(const void *data, size_t size, bool last) {
    (void)data, (void)size, (void)last;
}

/* Unlocking pages that are not locked removes them from the working set. */
void fr_map_drop(const void *data, size_t size) {
    (void)VirtualUnlock((void *)(uintptr_t)data, size);
}

bool fr_map_resident(const void *data) {
    (void)data;
    return false;
}

/* Windows has no limit; this number exceeds any practical use. */
size_t fr_map_limit(void) {
    return (size_t)1 << 24;
}

/* ---- Memory, time, processes ----------------------------------------------------------------- */

size_t fr_page_size(void) {
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return system.dwPageSize;
}

uint64_t fr_memory_size(void) {
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    return GlobalMemoryStatusEx(&memory) ? memory.ullTotalPhys : 0;
}

void *fr_memory_new(size_t alignment, size_t size, bool huge) {
    (void)huge; /* Huge pages require the privilege to lock memory. */
    return _aligned_malloc(size, alignment);
}

void fr_memory_free(void *data) {
    _aligned_free(data);
}

void fr_memory_use_huge(void *data, size_t size) {
    (void)data, (void)size;
}

uint64_t fr_clock_ns(void) {
    LARGE_INTEGER now, rate;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&rate);
    const uint64_t ticks = (uint64_t)now.QuadPart, second = (uint64_t)rate.QuadPart;
    return ticks / second * 1000000000u + ticks % second * 1000000000u / second;
}

uint64_t fr_clock_date_ns(void) {
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    return (uint64_t)time_of(&now);
}

int64_t fr_process_id(void) {
    return (int64_t)GetCurrentProcessId();
}

uint64_t fr_thread_cpu_ns(void) {
    FILETIME created, ended, kernel, user;
    if (!GetThreadTimes(GetCurrentThread(), &created, &ended, &kernel, &user)) return 0;
    const uint64_t ticks = (((uint64_t)kernel.dwHighDateTime << 32) | kernel.dwLowDateTime) +
                           (((uint64_t)user.dwHighDateTime << 32) | user.dwLowDateTime);
    return ticks * 100;
}

uint64_t fr_thread_starved_ns(void) {
    return 0;
}

uint64_t fr_thread_disk_faults(void) {
    return 0;
}

void fr_thread_pause(uint32_t us) {
    Sleep((us + 999) / 1000);
}

#endif
