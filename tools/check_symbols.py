#!/usr/bin/env python3
"""Fails when a static archive of the core refers to a socket, file, thread, clock, random or environment symbol.

Usage: tools/check_symbols.py ARCHIVE...    prints archive(object): symbol; exit 1 if any.
"""
import re
import subprocess
import sys

# Undefined symbols as nm --demangle prints them, without their argument lists.
FORBIDDEN = re.compile('|'.join([
    r'^(?:__)?(?:socket|socketpair|connect|bind|listen|accept4?|poll|ppoll|select|epoll_\w+|send|sendto|sendmsg|recv'
    r'|recvfrom|recvmsg|getaddrinfo|shutdown)(?:_chk)?$',
    r'^(?:__)?(?:open|open64|openat|openat64|open_2|creat|read|pread|pread64|write|pwrite|pwrite64|readv|writev|close'
    r'|fsync|fdatasync|rename|unlink|mkdir|mkstemp|stat|lstat|fstat|mmap|mmap64|ioctl|fcntl|fcntl64|syscall)(?:_chk)?$',
    r'^_*(?:f?open|fopen64|fdopen|freopen|fclose|fread|fwrite|fputs|fputc|putc|putchar|puts|fgets|fgetc|getline|v?f?printf'
    r'|v?fprintf|perror|fflush|fseek|ftell|remove|tmpfile)(?:_unlocked|_chk)?$',
    r'^(?:stdin|stdout|stderr)$',
    r'^(?:pthread_|thrd_|mtx_|cnd_|sem_)\w+$', r'^(?:fork|vfork|execv\w*|system|popen|kill|signal|sigaction|raise)$',
    r'^(?:clock_gettime|clock_nanosleep|clock|gettimeofday|time|times|nanosleep|usleep|sleep|alarm|timerfd_\w+)$',
    r'^(?:secure_|_*)getenv$', r'^(?:setenv|putenv|environ)$',
    r'^(?:s?rand|rand_r|s?random|drand48|getrandom|getentropy|arc4random\w*)$',
    r'^std::(?:chrono::.*clock|thread\b|this_thread\b|jthread\b|__atomic_futex|condition_variable|mutex|random_device)',
    r'^std::(?:basic_)?(?:o|i)?(?:fstream|filebuf)', r'^std::(?:cout|cerr|cin|clog)$', r'^std::ios_base::Init',
    r'^std::filesystem::',
]).replace('std::', r'std::(?:__cxx11::|_V2::)?'))

# What one object may refer to: a failed check says why and ends the process.
ALLOWED = {'check.cc.o': {'stderr', 'fprintf', '__fprintf_chk', 'fwrite', 'fputs', 'fputc'}}


def undefined(archive):
    """(object, symbol) of each undefined symbol."""
    listing = subprocess.run(['nm', '--undefined-only', '--demangle', archive], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    member = archive
    for line in listing.splitlines():
        if re.match(r'\S.*:$', line):
            member = line[:-1]
        match = re.match(r'\s+[Uwv]\s+(.*)$', line)
        if match:
            yield member, match.group(1)


def violations(archive):
    for member, symbol in undefined(archive):
        bare = re.sub(r'@.*$', '', symbol.split('(')[0])
        if FORBIDDEN.search(bare) and bare not in ALLOWED.get(member, ()):
            yield f'{archive}({member}): {symbol}'


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = [line for archive in sys.argv[1:] for line in violations(archive)]
    print('\n'.join(found) if found else f'symbols: {len(sys.argv) - 1} archives refer to nothing outside')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
