//! SFTP version 3 with byte names: packets, a client that pipelines, a server of a file system.
