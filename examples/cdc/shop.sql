-- A database of a shop, and the user that the connector logs in as.
CREATE DATABASE shop;
CREATE TABLE shop.customers (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(80) NOT NULL, email VARCHAR(80));
CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY, customer_id INT NOT NULL, price DECIMAL(10, 2) NOT NULL, made DATETIME);
INSERT INTO shop.customers (name, email) VALUES ('Kim', 'kim@example.com'), ('Lee', NULL);
INSERT INTO shop.orders (customer_id, price, made) VALUES (1, 12.50, '2024-05-01 10:00:00'), (2, 7.00, NULL);

CREATE USER 'capture'@'%' IDENTIFIED BY 'capture-secret';
GRANT SELECT, RELOAD, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'capture'@'%';
