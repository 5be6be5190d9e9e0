"""Where things are kept, and which server is meant.

CATALOG_URL         the server of every command, the terminal and the notebook
CATALOG_PROFILE     or a server by the name of its profile
CATALOG_TOKEN       the access token shown to that server, or to the one asked where none is named
CATALOG_DATA_DIR    where the embedded catalog lives; set, it is meant before the current profile
CATALOG_STATE_DIR   where logs, drafts and the state of front ends live
CATALOG_CONFIG_DIR  where the profiles are kept
CATALOG_CACHE_DIR   where answers are kept for working offline
CATALOG_DRAFTING_COMMAND  a command that drafts descriptions; stronger than that of a profile

Where none of these names a server and no profile is current, those of DataHub's tools do:
DATAHUB_GMS_URL (or DATAHUB_GMS_HOST, DATAHUB_GMS_PORT and DATAHUB_GMS_PROTOCOL) with
DATAHUB_GMS_TOKEN, and the file ~/.datahubenv unless DATAHUB_SKIP_CONFIG is true.
"""

from explorer.config.catalogs import note_catalog, state_keys, state_name
from explorer.config.files import cache_dir, config_dir, data_dir, state_dir
from explorer.config.servers import (
    EMBEDDED,
    ENVIRONMENT,
    NO_TOKEN,
    ConnectionProfile,
    ConnectionProfiles,
    Drafting,
    ServerSettings,
    SignIn,
    Signs,
    TokenSource,
    change_profiles,
    check_name,
    check_token,
    finds_by_meaning,
    forget_token,
    keep_meaning,
    keep_sign_in,
    keep_token,
    keep_user,
    profiles_file,
    read_profiles,
    server,
    token_of,
    user_of,
    user_urn,
)

__all__ = [
    "EMBEDDED",
    "ENVIRONMENT",
    "NO_TOKEN",
    "ConnectionProfile",
    "ConnectionProfiles",
    "Drafting",
    "ServerSettings",
    "SignIn",
    "Signs",
    "TokenSource",
    "cache_dir",
    "change_profiles",
    "check_name",
    "check_token",
    "config_dir",
    "data_dir",
    "finds_by_meaning",
    "forget_token",
    "keep_meaning",
    "keep_sign_in",
    "keep_token",
    "keep_user",
    "note_catalog",
    "profiles_file",
    "read_profiles",
    "server",
    "state_dir",
    "state_keys",
    "state_name",
    "token_of",
    "user_of",
    "user_urn",
]
