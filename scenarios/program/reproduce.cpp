// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/run_study.h"
#include "scenarios/report/reproduction_report.h"
#include "scenarios/report/text_table.h"
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

ResultOrErrors<StudyOutput> reproduce_output(const std::vector<Reproduction>& rooms,
                                             std::uint32_t jobs,
                                             const std::function<void(double)>& progress) {
    const auto outcomes = reproduce(rooms, {.jobs = jobs, .progress = progress});
    if (!outcomes) {
        return unexpected<Errors>(outcomes.error());
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
    return run_study(
        arguments,
        {.source = "reproductions", .label = "reproducing", .study = [&](const auto& progress) {
             return reproduce_output(*rooms, arguments.jobs, progress);
         }});
}

Command describe_reproduce() {
    const auto arguments = std::make_shared<ReproduceArguments>();
    return {
        .name = "reproduce",
        .help = "Simulate published systems and judge each published figure by a fixed rule",
        .options = joined(
            {{{"names",
               &arguments->names,
               "Rooms of scenarios/reproductions, or files of kind reproduction; all if not given",
               "NAME"},
              {"--list", &arguments->list, "List the rooms and simulate nothing"},
              jobs_option(arguments->jobs)},
             view_options(*arguments,
                          {.html = "Write a page with a room a system and what explains each gain",
                           .csv = "Write the figures as a table"})}),
        .examples = {"reproduce megascale-ablation holmes --html museum.html", "reproduce --list"},
        .run = [arguments] { return reproduce_command(*arguments); },
    };
}

}  // namespace orrery
