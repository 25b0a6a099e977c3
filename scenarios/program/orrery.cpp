// SPDX-License-Identifier: Apache-2.0
// The program `orrery`: its command line, and what ends it without one.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "scenarios/format/provenance/version.h"
#include "scenarios/program/command_line.h"
#include "scenarios/program/exit_status.h"

namespace orrery {
namespace {

// Asks for no memory itself, not even on the way out.
[[noreturn]] void end_without_memory() {
    constexpr std::string_view kText =
        "error: out of memory (hint: a smaller scenario, or more memory)\n";
    [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, kText.data(), kText.size());
    std::_Exit(kExitUserError);
}

std::atomic<bool> memory_lacked = false;
const std::terminate_handler usual_end = std::get_terminate();

[[noreturn]] void note_lack_of_memory() {
    memory_lacked = true;
    throw std::bad_alloc{};
}

// Where nothing may be thrown: in libstdc++'s walk through a folder, for one.
[[noreturn]] void terminate() {
    if (memory_lacked) {
        end_without_memory();
    }
    usual_end();
    std::abort();
}

// A file that takes the number of a closed standard output would get what is printed. Writing to
// this stand-in fails as writing to a closed one does.
void hold_closed_outputs() {
    for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(output, F_GETFD) == -1) {
            const int stand_in = open("/dev/null", O_RDONLY);
            if (stand_in >= 0 && stand_in != output) {
                dup2(stand_in, output);
                close(stand_in);
            }
        }
    }
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
    orrery::hold_closed_outputs();
    std::set_new_handler(orrery::note_lack_of_memory);
    std::set_terminate(orrery::terminate);
    try {
        orrery::set_build_identity(orrery::identity_of_this_program());
        return orrery::run_command_line(argc, argv);
    } catch (const std::bad_alloc&) {
        orrery::end_without_memory();
    } catch (const std::exception& error) {
        return orrery::report_defect(error.what());
    }
}
