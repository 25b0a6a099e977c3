// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/reproduce_pages.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/render/text_table.h"
#include "scenarios/report/reproduction_report.h"
#include "scenarios/studies/reproduce/reproduce.h"

namespace orrery {
namespace {

std::filesystem::path folder_of_rooms() {
    return default_catalogue().parent_path() / "reproductions";
}

int print_rooms(const std::vector<Reproduction>& rooms) {
    std::vector<TextRow> rows;
    for (const Reproduction& room : rooms) {
        rows.push_back({room.name, room.system + ", " + room.title});
    }
    return print_output(text_table(rows, 2));
}

Provenance made_of(const std::vector<Reproduction>& rooms) {
    Provenance provenance = provenance_of("reproduce");
    for (const Reproduction& room : rooms) {
        provenance.add_input(room.file);
    }
    return provenance;
}

// `folder` is for one page per reproduction; empty: none.
ResultOrErrors<StudyOutput> reproduce_output(const std::vector<Reproduction>& rooms,
                                             std::uint32_t jobs,
                                             const std::string& folder,
                                             const std::function<void(double)>& progress) {
    const auto outcomes = reproduce(rooms, {.jobs = jobs, .progress = progress});
    if (!outcomes) {
        return unexpected<Errors>(outcomes.error());
    }
    if (!folder.empty()) {
        const Result<void> written = write_room_pages(
            folder, *outcomes, [](const std::vector<Reproduction>& of) { return made_of(of); });
        if (!written) {
            return unexpected<Errors>(Errors{written.error()});
        }
    }
    const bool answered = std::ranges::all_of(*outcomes, [](const RoomOutcome& room) {
        return std::ranges::all_of(room.comparisons, [](const ComparisonOutcome& one) {
            return one.simulated.has_value();
        });
    });
    return StudyOutput{.report = reproduction_sections(*outcomes, true),
                       .json = reproduction_json(*outcomes),
                       .provenance = made_of(rooms),
                       .text = to_text(reproduction_sections(*outcomes, rooms.size() == 1)),
                       .status = answered ? kExitOk : kExitUserError};
}

}  // namespace

int reproduce_command(const ReproduceArguments& arguments) {
    const auto rooms = find_rooms(folder_of_rooms(), arguments.names);
    if (!rooms) {
        return report_errors(rooms.error());
    }
    if (arguments.list) {
        return print_rooms(*rooms);
    }
    ReproduceArguments views = arguments;
    std::string folder;
    if (names_folder(arguments.html_file)) {
        folder.swap(views.html_file);
        if (const Result<void> made = make_folder(folder); !made) {
            return report_error(made.error());
        }
    }
    return run_study(views, "reproductions", "reproducing", [&](const auto& progress) {
        return reproduce_output(*rooms, arguments.jobs, folder, progress);
    });
}

Command describe_reproduce() {
    const auto arguments = std::make_shared<ReproduceArguments>();
    return {
        .name = "reproduce",
        .group = CommandGroup::judge,
        .help = "Simulate published systems and judge each published figure by a fixed rule",
        .options = joined(
            {{{"names",
               &arguments->names,
               "Rooms of scenarios/reproductions, or files of kind reproduction; all if not given",
               "NAME"},
              {"--list", &arguments->list, "List the rooms and simulate nothing"},
              jobs_option(arguments->jobs)},
             view_options(
                 *arguments,
                 {.html =
                      "Write a page with all rooms and what explains each gain; with a / at its "
                      "end, a folder with a page for each room",
                  .csv = "Write the figures as a table"})}),
        .examples = {"reproduce megascale-ablation holmes --html museum.html",
                     "reproduce --html museum/",
                     "reproduce --list"},
        .run = [arguments] { return reproduce_command(*arguments); },
    };
}

}  // namespace orrery
