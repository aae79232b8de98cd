module hotrow/pgx

go 1.21

require github.com/jackc/pgx/v5 v5.6.0
