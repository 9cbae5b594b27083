#include "cli/command/commands.h"

#include <array>

// A new command is a file that defines it, and its line here.
// clang-format off
#define THALWEG_COMMANDS(COMMAND) \
  COMMAND(kTrainCommand) \
  COMMAND(kNodeSchedulerCommand) \
  COMMAND(kNodeServerCommand) \
  COMMAND(kNodeWorkerCommand) \
  COMMAND(kNodeQuorumCommand) \
  COMMAND(kStatusCommand) \
  COMMAND(kEventsCommand) \
  COMMAND(kDrainCommand) \
  COMMAND(kScaleCommand) \
  COMMAND(kRunCommand) \
  COMMAND(kCompareCommand) \
  COMMAND(kPlotLossCommand) \
  COMMAND(kPlotThroughputCommand) \
  COMMAND(kPlotStalenessCommand) \
  COMMAND(kPredictCommand) \
  COMMAND(kEvalCommand) \
  COMMAND(kGenerateCommand) \
  COMMAND(kModelInspectCommand) \
  COMMAND(kModelWeightsCommand) \
  COMMAND(kModelImportanceCommand) \
  COMMAND(kModelExportCommand) \
  COMMAND(kModelDiffCommand) \
  COMMAND(kModelDigestCommand) \
  COMMAND(kModelPruneCommand) \
  COMMAND(kCkptLsCommand) \
  COMMAND(kCkptShowCommand) \
  COMMAND(kCkptVerifyCommand) \
  COMMAND(kCkptReshardCommand) \
  COMMAND(kCkptPruneCommand) \
  COMMAND(kCkptExportCommand) \
  COMMAND(kDataCheckCommand) \
  COMMAND(kDataStatsCommand) \
  COMMAND(kDataSplitCommand) \
  COMMAND(kDataSynthCommand) \
  COMMAND(kBenchExchangeCommand) \
  COMMAND(kBenchParseCommand) \
  COMMAND(kBenchQuorumCommand) \
  COMMAND(kQuorumGetCommand) \
  COMMAND(kQuorumPutCommand) \
  COMMAND(kQuorumStatusCommand) \
  COMMAND(kSimulateFaultsCommand) \
  COMMAND(kSimulateQuorumCommand) \
  COMMAND(kSimulateExchangeCommand) \
  COMMAND(kSimulateTrainCommand) \
  COMMAND(kTopoBenchCommand) \
  COMMAND(kTopoShowCommand) \
  COMMAND(kTopoPlanCommand) \
  COMMAND(kDoctorCommand) \
  COMMAND(kConfigShowCommand) \
  COMMAND(kCompletionCommand) \
  COMMAND(kVersionCommand) \
  COMMAND(kHelpCommand)
// clang-format on

namespace thalweg {

#define THALWEG_DECLARE_COMMAND(name) extern const Command name;
THALWEG_COMMANDS(THALWEG_DECLARE_COMMAND)
#undef THALWEG_DECLARE_COMMAND

std::span<const Command> program_commands() {
#define THALWEG_LIST_COMMAND(name) name,
  static const std::array kCommands = {THALWEG_COMMANDS(THALWEG_LIST_COMMAND)};
#undef THALWEG_LIST_COMMAND
  return kCommands;
}

}  // namespace thalweg
