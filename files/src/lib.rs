//! Files of a host: list, copy, edit, over any SFTP session.
