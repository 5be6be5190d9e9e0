"""Taking changes in: a proposal is checked as a whole before the writer sees it, and written as
one step of the writer's transaction."""

from explorer.server.intake.change import NO_RUN, UNKNOWN_ACTOR, Change
from explorer.server.intake.derived import summarise_incidents
from explorer.server.intake.intake import Intake, take_off

__all__ = ["NO_RUN", "UNKNOWN_ACTOR", "Change", "Intake", "summarise_incidents", "take_off"]
