// Ctrl-C: once to save and stop, twice to stop now.
#pragma once

#include <atomic>

namespace thalweg {

// By `how`, or SIG_DFL, with calls that it interrupts begun again.
void handle_signal(int signal, void (*how)(int));
bool is_ignored(int signal);

// Handles SIGINT, SIGTERM, and SIGHUP unless it is ignored: the first sets the flag, one that comes more than
// half a second later ends the process with exit code 130, after `last_words` (a literal) on standard output.
// The flag lives as long as the process. Call before threads start.
const std::atomic<bool>& catch_interrupts(const char* last_words = "");

// The same for a process that is not the one to answer Ctrl-C when a script has started it in the background:
// SIGINT stays ignored where it is.
const std::atomic<bool>& catch_own_interrupts();

// The same for a node. One that was started with SIGTERM ignored leaves the first signal, of any of
// these, to its parent, which ends the job; where that has ended, and nobody ends the job in its place within
// half a minute, the flag is set. A second signal ends the process all the same.
const std::atomic<bool>& catch_node_interrupts();

// Before the program writes its result: an interrupt from now on puts no last words behind it, and ends the
// process only where writing takes longer than half a second.
void take_last_words();

}  // namespace thalweg
